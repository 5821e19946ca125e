package redis

import (
	_ "embed" // of the script
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// Script is the text of the script. It has one key.
//
//go:embed group.lua
var Script string

// Do is what the script does with a group.
type Do string

// What there is to do.
const (
	// Take takes the costs if all limits admit.
	Take Do = "take"
	// Look takes nothing.
	Look Do = "look"
	// Debit takes the costs whether they are there or not, of what somebody has admitted elsewhere, and no limit further below nothing
	// than by what it admits at a time.
	Debit Do = "debit"
	// Give gives back what was taken and not used. What no window counts any more does not come back.
	Give Do = "give"
	// Refund gives back what was taken and spent, nobody knows any more when, as bucket.Group.Refund does, and looks.
	Refund Do = "refund"
)

// Ask is what is asked of a group of limits.
type Ask struct {
	Do     Do
	Policy string
	ID     bucket.ID
	// Limits are such that WhyNot has nothing against them, each with a tag of its own. Costs are 0 to bucket.MaxTokens, one for each.
	Limits []bucket.Limit
	Costs  []int64
	// Op says which it is of those of an asker, if it is a Take or a Debit. The zero value is one that nobody asks about again.
	Op Op
	// Chunk is for how long what a Take takes may be spent, or given back: while it may, a token bucket or a pacer does not fill up the room
	// that it has left. Less than a microsecond is a take that is spent at once. A Give has that of its Take: what flows does not come
	// back without one, or later.
	Chunk time.Duration
	// Approximate asks counters instead of the script: see Counter. Neither Op nor Chunk have a meaning then.
	Approximate bool
	// Replicas is how many replicas must have heard of it, of a Take or Debit; else it counts as not answered.
	Replicas int
	// Hasty says that whoever asks has less time than usual, so that no answer in time says nothing of the server.
	Hasty bool
	// Taken is the instant at the server (Reply.At) at which that was taken which a Give gives back.
	Taken bucket.Instant
}

// Op numbers what an asker wants done with a group, so that it is done once: a Take that was not answered may be charged by a Debit of the
// same number, which does nothing if the take was done after all; and if it comes after that, it does nothing. A debit that was not
// answered may be sent again. What was debited is remembered for a minute, what was taken until the group is full again.
type Op struct {
	// Asker is a name without spaces, of one process.
	Asker string
	// Number is 1 to 2^53, higher than all before of the same asker and group, and Floor is below those that he may ask about again.
	Number, Floor uint64
}

// names are the algorithms as the script calls them.
var names = map[bucket.Algorithm]string{
	bucket.TokenBucket: "bucket", bucket.Pacer: "pacer", bucket.FixedWindow: "fixed", bucket.FirstHitWindow: "first",
	bucket.CalendarWindow: "calendar",
}

// AppendArgs appends the arguments of the script. unix is about what time it is, in nanoseconds of Unix time: the windows of the calendar
// that it is in are sent along.
func (a *Ask) AppendArgs(args []string, unix int64) []string { return a.appendArgs(args, unix, 0) }

// appendArgs is AppendArgs for an instant of the caller's choice, in microseconds; 0 is that of the server.
func (a *Ask) appendArgs(args []string, unix, at int64) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	args = append(args, string(a.Do), number(at), number(int64(len(a.Limits))))
	for i := range a.Limits {
		l := &a.Limits[i]
		args = append(args, strconv.FormatUint(l.Tag, 36), nameOf(l), number(a.Costs[i]))
		switch l.Algorithm {
		case bucket.TokenBucket:
			count, per := perMicro(l)
			args = append(args, number(count), number(per), number(l.Burst))
		case bucket.Pacer:
			count, per := perMicro(l)
			queue, more := queueOf(l, count, per)
			args = append(args, number(count), number(per), number(queue), number(more))
		case bucket.CalendarWindow:
			args = append(args, number(l.Burst), number(int64(l.Calendar)<<32|int64(crc32.ChecksumIEEE([]byte(l.Zone)))), number(calendarWindows))
			args = appendWindows(args, l, unix)
		default:
			args = append(args, number(int64(l.Per/time.Microsecond)), number(l.Burst))
		}
	}
	switch a.Do {
	case Take, Debit:
		args = append(args, a.Op.Asker, strconv.FormatUint(a.Op.Number, 10), strconv.FormatUint(a.Op.Floor, 10))
		if a.Do == Take {
			args = append(args, number(int64(a.Chunk/time.Microsecond)))
		}
	case Give:
		args = append(args, number(int64(a.Taken)/int64(time.Microsecond)), number(int64(a.Chunk/time.Microsecond)))
	}
	return args
}

func nameOf(l *bucket.Limit) string {
	switch {
	case l.Algorithm != bucket.SlidingWindow:
		return names[l.Algorithm]
	case l.IsLogged():
		return "log"
	}
	return "counters"
}

// queueOf returns how much may be ahead of a request: whole tokens, and parts of one on top, as the script counts them.
func queueOf(l *bucket.Limit, count, per int64) (queue, more int64) {
	if count == 0 {
		return 0, 0
	}
	// In MaxWait as much flows in as MaxWait/1000 * count/per; of the parts of a token only whole ones matter, for there are only such.
	hi, lo := bits.Mul64(uint64(l.MaxWait), uint64(count))
	whole := uint64(per) * uint64(time.Microsecond)
	if hi >= whole {
		return l.Burst, 0
	}
	q, r := bits.Div64(hi, lo, whole)
	if q >= uint64(l.Burst) {
		return l.Burst, 0
	}
	return int64(q), int64(r / uint64(time.Microsecond))
}

// calendarWindows is how many windows of a calendar limit are sent: the one that is now, by the caller's clock, and the one after.
const calendarWindows = 2

func appendWindows(args []string, l *bucket.Limit, unix int64) []string {
	w := l.WindowAt(unix)
	for range calendarWindows {
		for _, n := range []int64{w.Index, micros(w.Start), micros(w.End)} {
			args = append(args, strconv.FormatInt(n, 10))
		}
		w = l.WindowAt(w.End)
	}
	return args
}

// micros rounds nanoseconds up to microseconds: an edge between two of them belongs to what comes after.
func micros(ns int64) int64 {
	us := ns / int64(time.Microsecond)
	if ns%int64(time.Microsecond) > 0 {
		us++
	}
	return us
}

// ErrNotDone is wrapped by errors that say that nothing was taken, debited or given back.
var ErrNotDone = errors.New("redis has done nothing")

// ErrOtherTime is the error about a limit of the calendar if the server's clock shows a time in another window, as it may at an edge; ask
// again with windows around the time of the server, which is returned with it. It wraps ErrNotDone.
var ErrOtherTime = fmt.Errorf("%w: its clock shows a time in another window", ErrNotDone)

// ErrDone is the error of a take whose number was debited before. It wraps ErrNotDone.
var ErrDone = fmt.Errorf("%w: this was debited before", ErrNotDone)

// ErrReply is wrapped by errors about a reply that is none of the script.
var ErrReply = errors.New("a reply that the script does not give")

// Reply is what the script has answered.
type Reply struct {
	// Decision is that of the group, and Which limit has spoken, as bucket.Group.TakeEach has it, or LookEach; of a Debit or a Give there
	// is none.
	Decision bucket.Decision
	Which    int
	// At is the instant at the server, in nanoseconds of Unix time.
	At bucket.Instant
}

// Read reads the numbers that the script has returned. The error wraps ErrReply, or is ErrOtherTime or ErrDone.
func (a *Ask) Read(reply []int64) (r Reply, err error) {
	limits, costs := a.Limits, a.Costs
	if len(reply) < 2 || reply[1] > math.MaxInt64/int64(time.Microsecond) {
		return r, fmt.Errorf("%w: %d numbers", ErrReply, len(reply))
	}
	r.At = bucket.Instant(reply[1]) * bucket.Instant(time.Microsecond)
	switch {
	case reply[0] == -2:
		return r, ErrDone
	case reply[0] < 0:
		return r, ErrOtherTime
	case a.Do == Debit || a.Do == Give: // nobody wants the numbers, which may be those of other limits
		return r, nil
	}
	g := bucket.Group{Limits: make([]bucket.Limit, len(limits)), States: make([]bucket.State, len(limits)), Log: new(bucket.Log)}
	for i := range limits {
		g.Limits[i] = limits[i].Reduced()
	}
	rest := reply[2:]
	for i := range limits {
		if len(rest) == 0 || rest[0] < 0 || int(rest[0]) >= len(rest) {
			return r, fmt.Errorf("%w: it ends in limit %d of %d", ErrReply, i+1, len(limits))
		}
		state := rest[1 : 1+rest[0]]
		rest = rest[1+rest[0]:]
		b, err := stateBytes(&limits[i], state, reply[1])
		if err == nil {
			_, err = g.ReadState(b, i, r.At)
		}
		if err != nil {
			return r, fmt.Errorf("%w: limit %d: %w", ErrReply, i+1, err)
		}
	}
	cost := int64(0)
	for _, c := range costs {
		cost = max(cost, c)
	}
	if a.Do == Take {
		r.Decision, r.Which = g.TakeEach(r.At, cost, costs)
	} else {
		r.Decision, r.Which = g.LookEach(r.At, cost, costs)
	}
	if r.Decision.Allowed != (reply[0] == 1) {
		return r, fmt.Errorf("%w: it says %d of what is %+v", ErrReply, reply[0], r.Decision)
	}
	return r, nil
}

// stateBytes writes the numbers of a state as bucket.Group.ReadState reads them.
func stateBytes(l *bucket.Limit, n []int64, now int64) (b []byte, err error) {
	want := map[string]int{"bucket": 2, "pacer": 2, "counters": 3, "fixed": 2, "first": 2, "calendar": 2}[nameOf(l)]
	if want > 0 && len(n) != want || len(n)%2 != 0 && want != 3 {
		return nil, fmt.Errorf("%d numbers of a %s", len(n), nameOf(l))
	}
	ago := func(at int64) uint64 { return uint64(max(0, now-at)) * uint64(time.Microsecond) }
	switch nameOf(l) {
	case "bucket", "pacer":
		_, per := perMicro(l)
		r := l.Reduced()
		parts := int64(0) // of those of package bucket
		if r.Per > 0 {
			parts = n[1] * (int64(r.Per) / per)
		}
		b = binary.AppendVarint(b, n[0])
		b = binary.AppendUvarint(b, uint64(parts))
	case "log":
		b = binary.AppendUvarint(b, uint64(len(n)/2))
		for i := 0; i < len(n); i += 2 {
			b = binary.AppendUvarint(b, ago(n[i]))
			b = binary.AppendUvarint(b, uint64(n[i+1]))
		}
	case "counters":
		b = binary.AppendUvarint(b, uint64(n[0]))
		b = binary.AppendUvarint(b, uint64(n[1]))
		b = binary.AppendUvarint(b, ago(n[2]))
	case "first":
		b = binary.AppendVarint(b, n[0])
		b = binary.AppendUvarint(b, ago(n[1]))
	default:
		b = binary.AppendVarint(b, n[0])
		b = binary.AppendVarint(b, n[1])
	}
	return b, nil
}
