package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// ErrFrame is wrapped when a frame cannot be decoded: it was cut, or its sender does not speak this protocol. The
// stream is of no further use.
var ErrFrame = errors.New("malformed frame")

// frameType is the first byte of every frame.
type frameType byte

const (
	typeHello   frameType = 1
	typeRefusal frameType = 2
	typeProof   frameType = 3
	typeChecks  frameType = 4
	typeAnswers frameType = 5
	typeCall    frameType = 6
	typeReply   frameType = 7
	typeLeases  frameType = 8
	typeGrants  frameType = 9
	typeWord    frameType = 10
	typeHolds   frameType = 11
)

// reader takes a frame apart. The first failure sticks, and zero values follow it, so that a decoder checks once.
type reader struct {
	b   []byte
	err error
}

func open(frame []byte, want frameType) reader {
	if len(frame) == 0 {
		return reader{err: fmt.Errorf("%w: empty", ErrFrame)}
	}
	if got := frameType(frame[0]); got != want {
		return reader{err: fmt.Errorf("%w: type %d where %d was due", ErrFrame, got, want)}
	}
	return reader{b: frame[1:]}
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrFrame, what)
		r.b = nil
	}
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail("cut short")
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) uint64() uint64 {
	if len(r.b) < 8 {
		r.fail("cut short")
		return 0
	}
	v := binary.BigEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("a number is cut or too long")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// int63 reads a number that is never negative in memory.
func (r *reader) int63() int64 { return r.upTo(math.MaxInt64) }

// upTo reads a number of at most highest.
func (r *reader) upTo(highest int64) int64 {
	v := r.uvarint()
	if v > uint64(highest) {
		r.fail(fmt.Sprintf("%d where at most %d is in range", v, highest))
		return 0
	}
	return int64(v)
}

func (r *reader) id() bucket.ID { return bucket.ID{Hi: r.uint64(), Lo: r.uint64()} }

func (r *reader) duration() time.Duration { return time.Duration(r.int63()) }

// bytes reads a length-prefixed field of at most limit bytes. It aliases the frame.
func (r *reader) bytes(limit int) []byte {
	n := r.uvarint()
	if r.err != nil {
		return nil
	}
	if n > uint64(limit) || n > uint64(len(r.b)) {
		r.fail(fmt.Sprintf("a field of %d bytes", n))
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// end fails if anything is left over.
func (r *reader) end() error {
	if r.err == nil && len(r.b) != 0 {
		r.fail(fmt.Sprintf("%d bytes too many", len(r.b)))
	}
	return r.err
}

func appendID(b []byte, id bucket.ID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, id.Hi), id.Lo)
}

func appendBytes[T ~string | ~[]byte](b []byte, v T) []byte {
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}
