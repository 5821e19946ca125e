package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/drossel-dev/drossel/bucket"
)

// ErrBlob is wrapped by the errors of Import: the bytes are not those of a blob, or of one that this version knows.
var ErrBlob = errors.New("malformed blob of groups")

// reader takes a blob apart. After an error it returns zeros, and nothing is left.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrBlob, what)
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail("it ends early")
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) id() (id bucket.ID) {
	if len(r.b) < 16 {
		r.fail("it ends in an id")
		return id
	}
	id = bucket.ID{Hi: binary.BigEndian.Uint64(r.b), Lo: binary.BigEndian.Uint64(r.b[8:])}
	r.b = r.b[16:]
	return id
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.past(n)
	return v
}

// past goes on after a number of n bytes, which is none if n is not positive.
func (r *reader) past(n int) {
	if n <= 0 {
		r.fail("it ends early, or a number is too long")
		return
	}
	r.b = r.b[n:]
}

// int63 reads a number that is not negative.
func (r *reader) int63() int64 {
	v := r.uvarint()
	if v > math.MaxInt64 {
		r.fail(fmt.Sprintf("%d is too large", v))
		return 0
	}
	return int64(v)
}

func (r *reader) instant() bucket.Instant { return bucket.Instant(r.int63()) }

// text reads that of an entry.
func (r *reader) text() string {
	n := r.uvarint()
	if n > MaxEntryBytes || n > uint64(len(r.b)) {
		r.fail(fmt.Sprintf("an entry of %d bytes", n))
		return ""
	}
	text := string(r.b[:n])
	r.b = r.b[n:]
	return text
}

// limits reads those of a group. They are reduced: what is counted in parts of a token would else mean something else.
func (r *reader) limits() (all []bucket.Limit) {
	n := int(r.byte())
	if r.err == nil && (n < 1 || n > MaxStates) {
		r.fail(fmt.Sprintf("a group of %d limits, want 1 to %d", n, MaxStates))
	}
	for ; n > 0 && r.err == nil; n-- {
		l, rest, err := bucket.ReadLimit(r.b)
		if err != nil {
			r.fail(err.Error())
		} else if r.b = rest; l != l.Reduced() {
			r.fail(fmt.Sprintf("%d tokens per %d ns, want the smallest numbers of that rate", l.Count, l.Per))
		}
		all = append(all, l)
	}
	return all
}
