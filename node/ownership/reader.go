package ownership

import (
	"encoding/binary"
	"fmt"
)

// reader takes a message apart. The first failure sticks, and zero values follow it, so that a decoder checks once.
type reader struct {
	b    []byte
	at   int // how much of b has been read
	kind messageType
	who  []Member // the table at the head
	last int      // the partition before
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: type %d: %s", ErrMessage, r.kind, fmt.Sprintf(format, args...))
		r.at = len(r.b)
	}
}

func (r *reader) left() int { return len(r.b) - r.at }

func (r *reader) byte() byte {
	if r.left() == 0 {
		r.fail("cut short")
		return 0
	}
	v := r.b[r.at]
	r.at++
	return v
}

func (r *reader) uint64() uint64 {
	if r.left() < 8 {
		r.fail("cut short")
		return 0
	}
	v := binary.BigEndian.Uint64(r.b[r.at:])
	r.at += 8
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b[r.at:])
	if n <= 0 {
		r.fail("a number is cut or too long")
		return 0
	}
	r.at += n
	return v
}

// count reads how many entries follow: at most limit, and no more than the rest has room for at so many bytes each, so
// that what is allocated for them is bounded by what has come.
func (r *reader) count(limit, least int) int {
	n := r.uvarint()
	if n > uint64(limit) || n > uint64(r.left()/least) {
		r.fail("%d entries in %d bytes, want at most %d of %d bytes or more", n, r.left(), limit, least)
		return 0
	}
	return int(n)
}

// flag reads a byte that is 0 or 1.
func (r *reader) flag() bool {
	v := r.byte()
	if v > 1 {
		r.fail("flag %d, want 0 or 1", v)
	}
	return v == 1
}

// id reads a stable id, which is never empty.
func (r *reader) id() string {
	n := r.uvarint()
	if r.err != nil {
		return ""
	}
	if n < 1 || n > maxIDBytes {
		r.fail("id of %d bytes, want 1 to %d", n, maxIDBytes)
		return ""
	}
	if n > uint64(r.left()) {
		r.fail("cut short")
		return ""
	}
	v := string(r.b[r.at : r.at+int(n)])
	r.at += int(n)
	return v
}

// member reads one that is written out.
func (r *reader) member() Member { return Member{ID: r.id(), Incarnation: r.uint64()} }

// name reads the number of a member in the table; 0 is the zero Member.
func (r *reader) name() Member {
	i := r.uvarint()
	if i > uint64(len(r.who)) {
		r.fail("member %d of a table of %d", i, len(r.who))
	}
	if r.err != nil || i == 0 {
		return Member{}
	}
	return r.who[i-1]
}

func (r *reader) claim() Claim {
	who := r.name()
	if who.ID == "" {
		return Claim{}
	}
	return Claim{Epoch{r.uvarint(), who.Incarnation}, who.ID}
}

func (r *reader) partition() int { return r.after(r.uvarint()) }

// after returns the partition that has so many others between the last one and itself.
func (r *reader) after(between uint64) int {
	if room := partitionBound - r.last - 1; between >= uint64(room) {
		r.fail("partition %d + %d, want them to ascend below %d", r.last+1, between, partitionBound)
		return 0
	}
	r.last += int(between) + 1
	return r.last
}

func (r *reader) state() (s State, deaf bool) {
	b := r.byte()
	s = State(b &^ stateDeaf)
	if s < Joining || s > Leaving {
		r.fail("state %d, want %d to %d", s, Joining, Leaving)
	}
	return s, b&stateDeaf != 0
}

func (r *reader) ballot() Ballot {
	b := Ballot{N: r.uvarint()}
	if b.N > 0 {
		b.ID = r.id()
	}
	return b
}

func (r *reader) seconded() Seconded {
	s := Seconded{At: r.ballot()}
	if s.At.N > 0 {
		s.Change = r.change()
	}
	return s
}

func (r *reader) change() Change { return Change{Member: r.member(), Remove: r.flag()} }

func (r *reader) list() List {
	n := r.count(maxListed, leastMember)
	added := make(map[string]uint64, n)
	last := ""
	for range n {
		m := r.memberAfter(last)
		added[m.ID] = m.Incarnation
		last = m.ID
	}
	n = r.count(maxListed-n, leastMember+1)
	removed := make(map[string]removal, n)
	last = ""
	for range n {
		m := r.memberAfter(last)
		removed[m.ID] = removal{m.Incarnation, r.uvarint()}
		last = m.ID
	}
	if r.err != nil {
		return List{}
	}
	return newList(added, removed)
}

// memberAfter reads a member whose id is not listed yet: they ascend.
func (r *reader) memberAfter(last string) Member {
	m := r.member()
	if m.ID <= last {
		r.fail("id %q after %q, want them in order", m.ID, last)
	}
	return m
}

// end fails if anything is left over.
func (r *reader) end() error {
	if r.err == nil && r.left() != 0 {
		r.fail("%d bytes too many", r.left())
	}
	return r.err
}
