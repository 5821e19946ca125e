package lease

import (
	"fmt"
	"time"
)

// post keeps every message that was sent in any world, once, so that a world holds only their numbers.
type post struct {
	letters []letter
	where   map[stamp]uint16
}

// letter is a message between a holder and the owner: one of the two.
type letter struct {
	request *Request
	answer  *Answer
}

// stamp is a letter as a value: two letters with the same one are the same message.
type stamp struct {
	answer      bool
	closes      bool
	number      Number
	lease       ID
	spent, left int64
	under       [mostStates]int64
	ttl         time.Duration
}

func (p *post) request(r Request) uint16 {
	s := stamp{closes: r.Close, number: r.Number, lease: r.Lease, spent: r.Spent}
	if r.Close { // else it is of no account to a ledger
		s.left = r.Left
	}
	copy(s.under[:], r.Under)
	return p.keep(s, letter{request: &r})
}

func (p *post) answer(a Answer) uint16 {
	return p.keep(stamp{answer: true, number: a.Number, lease: a.Lease, left: a.Tokens, ttl: a.TTL}, letter{answer: &a})
}

func (p *post) keep(s stamp, l letter) uint16 {
	at, found := p.where[s]
	if !found {
		if p.where == nil {
			p.where = make(map[stamp]uint16)
		}
		at = uint16(len(p.letters))
		p.letters = append(p.letters, l)
		p.where[s] = at
	}
	return at
}

func (l letter) String() string {
	if a := l.answer; a != nil {
		return fmt.Sprintf("answer to %d: lease %d, %d tokens for %v", a.Number, a.Lease, a.Tokens, a.TTL)
	}
	r := l.request
	what := fmt.Sprintf("request %d", r.Number)
	if r.Close {
		what = "return"
	}
	return fmt.Sprintf("%s: lease %d, spent %d, under %d, left %d", what, r.Lease, r.Spent, r.Under, r.Left)
}
