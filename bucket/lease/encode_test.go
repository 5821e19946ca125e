package lease

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// mark names a world among all: 128 bits, so that two different ones are never taken for one.
type mark [2]uint64

// encoder writes worlds as bytes. Worlds that differ only in which holder is which, or in how long they have lasted,
// are written alike.
type encoder struct {
	seeds  [2]maphash.Seed
	out    []byte
	blocks [mostHolders][]byte
}

func newEncoder() *encoder {
	return &encoder{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

func (e *encoder) mark(w *world) mark {
	b := e.out[:0]
	for j, s := range w.states {
		b = put(b, s.Tokens, int64(s.Frac), int64(s.Last-w.now), w.ideal[j])
	}
	b = put(b, int64(w.ledger.Last.Number), int64(w.crashed))
	if w.window > 0 {
		b = put(b, int64(w.edge()))
	}
	for i := range w.checks {
		c := &w.checks[i]
		b = append(b, byte(c.phase), c.answers)
		if c.phase != unsent {
			b = put(b, c.costs...)
			b = put(b, int64(c.pledge.Life), w.ago(c.pledge.Sent))
		}
		for _, h := range w.ledger.holds {
			if h.id == checkID(i) {
				b = put(b, 1, int64(h.ends-w.now))
			}
		}
	}
	for _, sent := range w.settled {
		b = append(b, yes(sent))
	}
	b = append(b, byte(len(w.ledger.settled)))
	blocks := e.blocks[:len(w.holders)]
	for i := range w.holders {
		blocks[i] = w.block(blocks[i][:0], i)
	}
	slices.SortFunc(blocks, bytes.Compare)
	for _, block := range blocks {
		b = append(b, block...)
		b = append(b, 0xff)
	}
	e.out = b
	return mark{maphash.Bytes(e.seeds[0], b), maphash.Bytes(e.seeds[1], b)}
}

// block writes one holder, and what the owner knows of it.
func (w *world) block(b []byte, i int) []byte {
	h := &w.holders[i]
	p := &h.purse
	b = put(b, int64(p.lease.Number), p.left, p.held, p.spent, w.ahead(p.deadline), int64(p.asked.Incarnation),
		int64(p.asked.Seq), w.ago(p.sent))
	b = put(b, p.under...)
	b = append(b, 0xff, yes(p.waiting), byte(h.asked), byte(h.number.Incarnation), byte(h.number.Seq))
	for _, held := range h.holds {
		b = append(put(b, int64(held.lease.Number)), yes(held.lapsed), yes(held.life == p.life))
		b = put(b, held.costs...)
	}
	b = append(b, 0xff)
	for at := range uint64(w.rules.crashes) + 1 { // one entry for each incarnation, in their order
		at := w.ledger.find(names[i], at+1)
		if at < 0 {
			continue
		}
		e := &w.ledger.entries[at]
		b = put(b, int64(e.lease.Number), int64(e.number.Incarnation), int64(e.number.Seq), e.left, e.spent,
			w.ahead(e.burns), e.answer.Tokens, int64(e.answer.TTL))
		b = put(b, e.under...)
	}
	b = append(b, 0xff)
	for _, l := range h.letters {
		b = binary.BigEndian.AppendUint16(b, l)
	}
	return b
}

// ahead is how far away an instant is, all that have passed being alike.
func (w *world) ahead(at bucket.Instant) int64 { return int64(max(0, at-w.now)) }

// ago is how long ago something was sent, beyond the longest life all being alike.
func (w *world) ago(at bucket.Instant) int64 {
	return int64(min(w.now-at, bucket.Instant(lives(max(w.ttl, w.life)))))
}

func put(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func yes(b bool) byte {
	if b {
		return 1
	}
	return 0
}
