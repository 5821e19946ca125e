package node

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket"
)

// memo remembers the ids of keys that are asked for often. To hash a key costs as much as to decide it, and a key that
// makes a node busy is asked for again and again. Safe for concurrent use.
type memo struct {
	seed  maphash.Seed
	slots [memoSlots]memoSlot
}

// memoSlot holds one key. The hash beside it is enough to see that another key is asked for, which is the rule where
// keys are many; the key itself decides.
type memoSlot struct {
	hash  atomic.Uint64
	known atomic.Pointer[known]
}

// known is the id of one key, and its partition. It is immutable.
type known struct {
	key  string
	id   bucket.ID
	part int
}

const (
	memoSlots = 256
	// memoSample is one in how many checks is remembered: rare enough that keys which come once cost nothing, and soon
	// enough for those that come all the time.
	memoSample = 256
	// memoKeyBytes bounds the keys that are remembered.
	memoKeyBytes = 64
)

// find returns what is known of a key, or nil.
func (m *memo) find(key string) *known {
	hash := maphash.String(m.seed, key)
	s := &m.slots[hash%memoSlots]
	if s.hash.Load() != hash {
		return nil
	}
	if k := s.known.Load(); k != nil && k.key == key {
		return k
	}
	return nil
}

// learn remembers a key in place of whatever stood in its slot.
func (m *memo) learn(key string, q *question) {
	if key == "" || len(key) > memoKeyBytes || m.find(key) != nil {
		return
	}
	hash := maphash.String(m.seed, key)
	s := &m.slots[hash%memoSlots]
	s.known.Store(&known{strings.Clone(key), q.id, q.part})
	s.hash.Store(hash)
}
