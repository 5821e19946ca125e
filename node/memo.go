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
	slots [memoSlots]atomic.Pointer[known]
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

func (m *memo) slot(key string) *atomic.Pointer[known] {
	return &m.slots[maphash.String(m.seed, key)%memoSlots]
}

// find returns what is known of a key, or nil.
func (m *memo) find(key string) *known {
	if k := m.slot(key).Load(); k != nil && k.key == key {
		return k
	}
	return nil
}

// learn remembers a key in place of whatever stood in its slot.
func (m *memo) learn(key string, q *question) {
	if key == "" || len(key) > memoKeyBytes || m.find(key) != nil {
		return
	}
	m.slot(key).Store(&known{strings.Clone(key), q.id, q.part})
}
