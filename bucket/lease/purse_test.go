package lease

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

const life = 300 * time.Millisecond

func leaseID(epoch, n uint64) ID { return ID{epoch, n} }

// filled returns a purse with ten tokens of lease {1 1}, asked for at 0 as request 1 and received at 100 ms.
func filled(t *testing.T) *Purse {
	t.Helper()
	p := new(Purse)
	p.Ask(0, number(1))
	if !p.Accept(100*ms, &Answer{Number: number(1), Lease: leaseID(1, 1), Tokens: 10, TTL: life}) {
		t.Fatal("not accepted")
	}
	return p
}

func (p *Purse) has(t *testing.T, now bucket.Instant, lease ID, left int64) {
	t.Helper()
	if p.Lease(now) != lease || p.Left(now) != left {
		t.Errorf("at %v: lease %v with %d left, want %v with %d", time.Duration(now), p.Lease(now), p.Left(now), lease, left)
	}
}

func TestPurse(t *testing.T) {
	none := ID{}
	t.Run("I3 spends what it has, before its deadline", func(t *testing.T) {
		p := filled(t)
		if p.Spend(100*ms, 11) || !p.Spend(100*ms, 9) || p.Spend(100*ms, 2) {
			t.Error("spends what it has not, or not what it has")
		}
		if !p.Spend(300*ms-1, 1) || p.spent != 10 {
			t.Error("not before the deadline")
		}
		p = filled(t)
		if p.Spend(300*ms, 1) || p.Spend(sec, 0) {
			t.Error("after the deadline")
		}
		p.has(t, 300*ms-1, leaseID(1, 1), 10)
		p.has(t, 300*ms, none, 0)
	})
	t.Run("an empty purse spends nothing", func(t *testing.T) {
		var p Purse
		if p.Spend(-sec, 1) || p.Spend(0, 1) || p.alive(0) {
			t.Error("spends")
		}
		if _, ok := p.Close(0); ok {
			t.Error("closes")
		}
	})
	t.Run("I4 takes the answer that it waits for, once", func(t *testing.T) {
		p := filled(t)
		more := Answer{Number: number(1), Lease: leaseID(1, 1), Tokens: 5, TTL: life}
		if p.Accept(100*ms, &more) {
			t.Error("twice")
		}
		p.Ask(110*ms, number(2))
		if p.Accept(110*ms, &more) {
			t.Error("of another request")
		}
		p.GiveUp()
		more.Number = number(2)
		if p.Accept(110*ms, &more) {
			t.Error("after it has given up")
		}
		p.has(t, 110*ms, leaseID(1, 1), 10)
	})
	t.Run("I4 names its lease while that lives", func(t *testing.T) {
		p := filled(t)
		p.Spend(100*ms, 3)
		if r := p.Ask(299*ms, number(2)); r.Lease != leaseID(1, 1) || r.Spent != 3 || r.Left != 7 || r.Number != number(2) {
			t.Errorf("%+v", r)
		}
		p.GiveUp()
		if r := p.Ask(300*ms, number(3)); r.Lease != none || r.Spent != 0 || r.Left != 0 || r.Number != number(3) {
			t.Errorf("dead: %+v", r)
		}
	})
	t.Run("I4 tokens come on top of the same lease, and in place of another", func(t *testing.T) {
		p := filled(t)
		p.Ask(150*ms, number(2))
		p.Accept(200*ms, &Answer{Number: number(2), Lease: leaseID(1, 1), Tokens: 5, TTL: life})
		p.has(t, 450*ms-1, leaseID(1, 1), 15)
		p.has(t, 450*ms, none, 0)
		p.Ask(200*ms, number(3))
		p.Accept(200*ms, &Answer{Number: number(3), Lease: leaseID(1, 2), Tokens: 5, TTL: life})
		p.has(t, 200*ms, leaseID(1, 2), 5)
		p.Ask(200*ms, number(4))
		p.Accept(200*ms, &Answer{Number: number(4)})
		p.has(t, 200*ms, none, 0)
	})
	t.Run("I5 returns all, once", func(t *testing.T) {
		p := filled(t)
		p.Spend(100*ms, 3)
		r, ok := p.Close(100 * ms)
		if !ok || !r.Close || r.Lease != leaseID(1, 1) || r.Spent != 3 || r.Left != 7 {
			t.Errorf("%+v %v", r, ok)
		}
		p.has(t, 100*ms, none, 0)
		if _, ok := p.Close(100 * ms); ok {
			t.Error("twice")
		}
	})
	t.Run("I5 returns nothing while a check holds, a request waits, or after the deadline", func(t *testing.T) {
		p := filled(t)
		h, _ := p.Hold(100*ms, []int64{1})
		if _, ok := p.Close(100 * ms); ok {
			t.Error("with a hold")
		}
		p.PutBack(100*ms, h)
		p.Ask(100*ms, number(2))
		if _, ok := p.Close(100 * ms); ok {
			t.Error("while it waits")
		}
		p.GiveUp()
		if _, ok := p.Close(300 * ms); ok {
			t.Error("dead")
		}
		if _, ok := p.Close(100 * ms); !ok {
			t.Error("not at all")
		}
	})
	t.Run("I6 the deadline counts from the first send", func(t *testing.T) {
		p := new(Purse)
		first := p.Ask(50*ms, number(1))
		if again := p.Again(); again.Number != first.Number || again.Lease != first.Lease {
			t.Errorf("%+v, want %+v", again, first)
		}
		if sent, waiting := p.Waiting(); sent != 50*ms || !waiting {
			t.Errorf("waiting %v since %v", waiting, sent)
		}
		p.Accept(200*ms, &Answer{Number: number(1), Lease: leaseID(1, 1), Tokens: 1, TTL: life})
		if p.deadline != 350*ms {
			t.Errorf("lives until %v", time.Duration(p.deadline))
		}
		p = new(Purse)
		p.Ask(50*ms, number(1))
		p.Accept(350*ms, &Answer{Number: number(1), Lease: leaseID(1, 1), Tokens: 1, TTL: life})
		p.has(t, 350*ms, none, 0)
		p.has(t, 349*ms, none, 0)
	})
	t.Run("I6 what has died stays dead", func(t *testing.T) {
		p := filled(t)
		p.Ask(200*ms, number(2))
		h, _ := p.Hold(200*ms, []int64{4})
		if !p.Accept(300*ms, &Answer{Number: number(2), Lease: leaseID(1, 1), Tokens: 5, TTL: life}) {
			t.Error("not taken for the answer")
		}
		if p.Left(300*ms) > 5 {
			t.Errorf("%d left of what died", p.Left(300*ms))
		}
		if p.Commit(300*ms, h) {
			t.Error("a hold of before is committed")
		}
	})
	t.Run("I7 ignores an owner that was replaced", func(t *testing.T) {
		p := new(Purse)
		ask := func(n, epoch uint64) bool {
			p.Ask(0, number(n))
			return p.Accept(0, &Answer{Number: number(n), Lease: leaseID(epoch, 1), Tokens: 1, TTL: life})
		}
		if !ask(1, 2) {
			t.Fatal("not accepted")
		}
		if ask(2, 1) {
			t.Error("a lower epoch is accepted")
		}
		p.has(t, 0, leaseID(2, 1), 1)
		p.GiveUp()
		if !ask(3, 2) || !ask(4, 3) || ask(5, 2) {
			t.Error("not the highest epoch that was seen")
		}
		p.has(t, 0, leaseID(3, 1), 1)
	})
	t.Run("I9 what is held is neither left nor reported", func(t *testing.T) {
		p := filled(t)
		h, ok := p.Hold(100*ms, []int64{4})
		if !ok {
			t.Fatal("not held")
		}
		if r := p.Ask(100*ms, number(2)); r.Spent != 0 || r.Left != 6 {
			t.Errorf("%+v", r)
		}
		if !p.Commit(100*ms, h) {
			t.Error("not committed")
		}
		if r := p.Again(); r.Spent != 4 || r.Left != 6 || r.Under != nil {
			t.Errorf("%+v", r)
		}
	})
	t.Run("I9 what is put back is left", func(t *testing.T) {
		p := filled(t)
		h, _ := p.Hold(100*ms, []int64{4, 1})
		p.PutBack(100*ms, h)
		p.has(t, 100*ms, leaseID(1, 1), 10)
		if p.spent != 0 || p.Again().Under != nil {
			t.Errorf("%+v", p.Again())
		}
	})
	t.Run("I9 each state's own cost is reported", func(t *testing.T) {
		p := filled(t)
		for _, costs := range [][]int64{{4, 1}, {0, 2}, {1, 1}} {
			h, _ := p.Hold(100*ms, costs)
			p.Commit(100*ms, h)
		}
		r, _ := p.Close(100 * ms)
		if r.Spent != 7 || r.Left != 3 || len(r.Under) != 2 || r.Under[0] != 2 || r.Under[1] != 3 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("I9 a hold ends with its lease", func(t *testing.T) {
		p := filled(t)
		h, _ := p.Hold(100*ms, []int64{4})
		if p.Commit(300*ms, h) {
			t.Error("committed after the deadline")
		}
		p = filled(t)
		h, _ = p.Hold(100*ms, []int64{4})
		p.Ask(100*ms, number(2))
		p.Accept(100*ms, &Answer{Number: number(2), Lease: leaseID(1, 2), Tokens: 5, TTL: life})
		p.PutBack(100*ms, h)
		if p.Commit(100*ms, h) {
			t.Error("committed from another lease")
		}
		p.has(t, 100*ms, leaseID(1, 2), 5)
	})
	t.Run("holds nothing", func(t *testing.T) {
		for name, costs := range map[string][]int64{
			"more than is left": {11}, "of one state more than is left": {1, 11}, "below zero": {1, -1}, "of no state": {},
		} {
			p := filled(t)
			if _, ok := p.Hold(100*ms, costs); ok {
				t.Error(name)
			}
			p.has(t, 100*ms, leaseID(1, 1), 10)
		}
		if _, ok := filled(t).Hold(300*ms, []int64{1}); ok {
			t.Error("after the deadline")
		}
	})
}
