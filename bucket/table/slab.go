package table

import (
	"math/bits"

	"github.com/drossel-dev/drossel/bucket"
)

// A slot is head words, then stateWords for each state.
const (
	headWords  = 3 // id.Hi, id.Lo, meta
	stateWords = 3 // Tokens, Frac, Last
	wordBytes  = 8
)

// limitsMask is the lower half of a meta word.
const limitsMask = 1<<32 - 1

// slab is an open-addressed array of slots of one size: linear probing, home position by the id's low half scaled to
// the capacity, holes closed by shifting back. It has no pointers in it and no lock.
//
// The capacity is not a power of two: growing by half keeps the array between 53 and 80 % full, where doubling would
// leave it as empty as 40 %.
type slab struct {
	words  []uint64
	stride int // words per slot
	slots  int // capacity
	used   int
	tries  int            // inserts that found no room since the last sweep
	swept  bucket.Instant // when that was
}

// meta is 0 in an empty slot. Its lower half is the index of the group's limits plus one; what the upper half is for
// stands in hot.go.
func pack(limits uint32) uint64   { return uint64(limits) + 1 }
func unpack(meta uint64) uint32   { return uint32(meta - 1) }
func (s *slab) at(i int) []uint64 { return s.words[i*s.stride : (i+1)*s.stride : (i+1)*s.stride] }

// states is how many limits its groups have.
func (s *slab) states() int { return (s.stride - headWords) / stateWords }

func (s *slab) home(lo uint64) int {
	h, _ := bits.Mul64(lo, uint64(s.slots))
	return int(h)
}

// find returns the slot of id, or nil.
func (s *slab) find(id bucket.ID) []uint64 {
	if s.used == 0 {
		return nil
	}
	for i := s.home(id.Lo); ; {
		w := s.at(i)
		if w[1] == id.Lo && w[0] == id.Hi && w[2] != 0 {
			return w
		}
		if w[2] == 0 {
			return nil
		}
		if i++; i == s.slots {
			i = 0
		}
	}
}

// index returns the number of the slot of an id that is there.
func (s *slab) index(id bucket.ID) int {
	for i := s.home(id.Lo); ; {
		if w := s.at(i); w[1] == id.Lo && w[0] == id.Hi && w[2] != 0 {
			return i
		}
		if i++; i == s.slots {
			i = 0
		}
	}
}

// insert returns a new slot for id, which must not be there yet. There must be room, and one slot stays empty always.
func (s *slab) insert(id bucket.ID, meta uint64) []uint64 {
	i := s.home(id.Lo)
	for s.at(i)[2] != 0 {
		if i++; i == s.slots {
			i = 0
		}
	}
	w := s.at(i)
	w[0], w[1], w[2] = id.Hi, id.Lo, meta
	s.used++
	return w
}

// remove empties slot i and closes the hole: whatever probed past it moves back.
func (s *slab) remove(i int) {
	s.used--
	hole := i
	for j := i; ; {
		if j++; j == s.slots {
			j = 0
		}
		w := s.at(j)
		if w[2] == 0 {
			break
		}
		// The slot at j may fill the hole unless its home lies behind the hole, cyclically in (hole, j].
		h := s.home(w[1])
		if hole <= j && hole < h && h <= j || hole > j && (hole < h || h <= j) {
			continue
		}
		copy(s.at(hole), w)
		hole = j
	}
	s.at(hole)[2] = 0
}

// resized returns a slab of another capacity with the same slots in it.
func (s *slab) resized(slots int) slab {
	n := slab{words: make([]uint64, slots*s.stride), stride: s.stride, slots: slots}
	for i := range s.slots {
		if w := s.at(i); w[2] != 0 {
			copy(n.insert(bucket.ID{Hi: w[0], Lo: w[1]}, w[2])[headWords:], w[headWords:])
		}
	}
	return n
}

func load(w []uint64, i int) bucket.State {
	w = w[headWords+i*stateWords:][:stateWords]
	return bucket.State{Tokens: int64(w[0]), Frac: w[1], Last: bucket.Instant(w[2])}
}

func store(w []uint64, i int, s bucket.State) {
	w = w[headWords+i*stateWords:][:stateWords]
	w[0], w[1], w[2] = uint64(s.Tokens), s.Frac, uint64(s.Last)
}
