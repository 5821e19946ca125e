package bucket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// A state goes from node to node as bytes. Every node has a clock of its own, so instants are written as how long ago they are,
// and what counts down goes on at the reader from when it reads: a little later, which is the safe side.

// ErrState is wrapped by the errors of ReadState: the bytes are no state of such a limit.
var ErrState = errors.New("malformed state")

// AppendState appends state i as of now, up to which it has been brought: some bytes, or, of a sliding window that is kept as a
// log, some for each entry.
func (g *Group) AppendState(b []byte, i int, now Instant) []byte {
	l, s := &g.Limits[i], &g.States[i]
	switch {
	case l.IsLogged():
		return g.Log.append(b, *s, now)
	case l.isCounters():
		b = binary.AppendUvarint(b, uint64(s.Tokens))
		b = binary.AppendUvarint(b, s.Frac)
		return binary.AppendUvarint(b, ago(s.Last, now))
	}
	b = binary.AppendVarint(b, s.Tokens)
	switch l.Algorithm {
	case FirstHitWindow:
		return binary.AppendUvarint(b, ago(Instant(s.Frac), now))
	case FixedWindow, CalendarWindow:
		return binary.AppendVarint(b, int64(s.Frac))
	}
	return binary.AppendUvarint(b, s.Frac)
}

func (g *Log) append(b []byte, s State, now Instant) []byte {
	n := 0
	for range g.all(s) {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n))
	for at, tokens := range g.all(s) {
		b = binary.AppendUvarint(b, ago(at, now))
		b = binary.AppendUvarint(b, uint64(tokens))
	}
	return b
}

// ago is how long ago an instant was, 0 if it is still to come.
func ago(at, now Instant) uint64 {
	if at >= now {
		return 0
	}
	return min(uint64(now)-uint64(at), math.MaxInt64)
}

// ReadState makes state i what AppendState has written of it, as of now, and returns the bytes that follow. It holds no more than
// its limit allows. It looks at no state that was there before. The error
// wraps ErrState; the state may then have something in the log.
func (g *Group) ReadState(b []byte, i int, now Instant) (rest []byte, err error) {
	g.start(i, now)
	r := numbers{b: b}
	l := &g.Limits[i]
	s := g.States[i]
	switch {
	case l.IsLogged():
		g.readLog(&r, i, now)
		s = g.States[i]
	case l.isCounters():
		s.Tokens, s.Frac, s.Last = min(r.int63(), 2*MaxTokens), min(uint64(r.int63()), 2*MaxTokens), r.before(now)
	default:
		s.Tokens = r.varint()
		switch l.Algorithm {
		case FirstHitWindow:
			s.Frac = uint64(r.before(now))
		case FixedWindow, CalendarWindow:
			s.Frac = uint64(r.varint())
		default:
			if s.Frac = r.uvarint(); s.Frac != 0 && s.Frac >= uint64(l.Per) {
				r.fail(fmt.Sprintf("%d parts of a token that has %d", s.Frac, l.Per))
			}
		}
		s.within(l)
	}
	g.States[i] = s
	return r.b, r.err
}

// within keeps a level to what there can be. It may be lower than a Debit makes it, by a dear cost or since the limit was lowered.
func (s *State) within(l *Limit) {
	most := l.Burst
	if l.Algorithm == Pacer {
		most = 0
	}
	s.Tokens = max(s.Tokens, -2*MaxTokens)
	if s.Tokens >= most {
		s.Tokens = most
		if l.Algorithm <= Pacer {
			s.Frac = 0
		}
	}
}

// mostInLog is more than there ever is in a log: as much as the largest has, twice, and as much again for debts.
const mostInLog = 4 * MaxLogged

func (g *Group) readLog(r *numbers, i int, now Instant) {
	n := r.uvarint()
	if n > uint64(len(r.b)/2) {
		r.fail(fmt.Sprintf("%d entries in %d bytes", n, len(r.b)))
		return
	}
	s, newest := &g.States[i], Instant(math.MinInt64)
	for ; n > 0 && r.err == nil; n-- {
		at, tokens := r.before(now), r.int63()
		if at < newest || tokens < 1 || tokens > s.Tokens+mostInLog {
			r.fail("entries of a log in no order, or too many tokens")
			return
		}
		g.Log.put(s, at, tokens)
		newest = at
	}
}

// numbers takes bytes apart. The first failure sticks, and zeros follow it.
type numbers struct {
	b   []byte
	err error
}

func (r *numbers) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrState, what)
	}
	r.b = nil
}

func (r *numbers) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.past(n)
	return v
}

func (r *numbers) varint() int64 {
	v, n := binary.Varint(r.b)
	r.past(n)
	return v
}

// past goes on after a number of n bytes, which is none if n is not positive.
func (r *numbers) past(n int) {
	if n <= 0 {
		r.fail("it ends early, or a number is too long")
		return
	}
	r.b = r.b[n:]
}

// int63 reads a number that is not negative.
func (r *numbers) int63() int64 {
	v := r.uvarint()
	if v > math.MaxInt64 {
		r.fail(fmt.Sprintf("%d is too large", v))
		return 0
	}
	return int64(v)
}

// before reads when something was, as long before now as it was for the writer.
func (r *numbers) before(now Instant) Instant {
	at := now - Instant(r.int63())
	if at > now { // before all time
		at = math.MinInt64
	}
	return at
}

// Append appends a limit: the same bytes for limits that are equal, and no others for those that are not.
func (l Limit) Append(b []byte) []byte {
	loss := byte(l.OwnerLoss)
	if l.Tag != 0 {
		loss |= hasTag
	}
	if l.Durable {
		loss |= isDurable
	}
	b = append(b, byte(l.Algorithm), loss)
	if l.Tag != 0 {
		b = binary.AppendUvarint(b, l.Tag)
	}
	b = binary.AppendUvarint(b, uint64(l.Burst))
	if l.Algorithm == CalendarWindow {
		b = binary.AppendUvarint(b, uint64(l.Count))
		b = append(b, byte(l.Calendar))
		b = binary.AppendUvarint(b, uint64(len(l.Zone)))
		return append(b, l.Zone...)
	}
	b = binary.AppendUvarint(b, uint64(l.Per))
	if l.isWindow() {
		return b
	}
	b = binary.AppendUvarint(b, uint64(l.Count))
	if l.Algorithm == Pacer {
		b = binary.AppendUvarint(b, uint64(l.MaxWait))
	}
	return b
}

// These are bits beside the rule for the loss of an owner.
const (
	hasTag    = 0x80
	isDurable = 0x40
)

// maxZone bounds the name of a time zone.
const maxZone = 64

// ReadLimit returns the limit that Append has written, and the bytes that follow. The error wraps ErrInvalidLimit, and says what is
// wrong with the limit or that the bytes are none.
func ReadLimit(b []byte) (l Limit, rest []byte, err error) {
	r := numbers{b: b}
	var loss byte
	l.Algorithm, loss = Algorithm(r.byte()), r.byte()
	l.Durable = loss&isDurable != 0
	if l.OwnerLoss = OwnerLoss(loss &^ (hasTag | isDurable)); loss&hasTag != 0 {
		if l.Tag = r.uvarint(); l.Tag == 0 {
			r.fail("a tag that is none")
		}
	}
	l.Burst = r.int63()
	switch {
	case l.Algorithm == CalendarWindow:
		l.Count, l.Calendar = r.int63(), Calendar(r.byte())
		n := r.uvarint()
		if n > maxZone || n > uint64(len(r.b)) {
			r.fail(fmt.Sprintf("the name of a time zone with %d bytes", n))
			n = 0
		}
		l.Zone, r.b = string(r.b[:n]), r.b[n:]
	case l.isWindow():
		l.Per = time.Duration(r.int63())
		l.Count = l.Burst
	default:
		l.Per, l.Count = time.Duration(r.int63()), r.int63()
		if l.Algorithm == Pacer {
			l.MaxWait = time.Duration(r.int63())
		}
	}
	if r.err != nil {
		return Limit{}, nil, fmt.Errorf("%w: %w", ErrInvalidLimit, r.err)
	}
	if err := l.Validate(); err != nil {
		return Limit{}, nil, err
	}
	return l, r.b, nil
}

func (r *numbers) byte() byte {
	if len(r.b) == 0 {
		r.fail("it ends early")
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}
