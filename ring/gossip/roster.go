package gossip

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/drossel-dev/drossel/ring"
)

// roster is the list of members that are alive: this node, and the newest boot of every other id. Its methods take a
// short lock and never block, so that memberlist's callbacks may call them.
type roster struct {
	changes chan struct{} // one slot: filled by every change, emptied by whoever looks

	mu     sync.Mutex
	self   ring.Member
	others map[string]ring.Member // by id; an entry of our own id is another process that uses it
}

func newRoster(self ring.Member) *roster {
	return &roster{changes: make(chan struct{}, 1), self: self, others: make(map[string]ring.Member)}
}

// list returns the members sorted by id, as a copy. This node is always among them, unless a newer process has its id.
func (r *roster) list() []ring.Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	byID := maps.Clone(r.others)
	if other, taken := byID[r.self.ID]; !taken || other.Boot <= r.self.Boot {
		byID[r.self.ID] = r.self
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b ring.Member) int { return strings.Compare(a.ID, b.ID) })
}

// here returns this node as it is now.
func (r *roster) here() ring.Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.self
}

func (r *roster) setState(state ring.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.self.State != state {
		r.self.State = state
		r.signalLocked()
	}
}

// put notes that a process is alive. One that is older than the known process of its id is ignored: it is on its way
// out and only not yet found dead. It reports whether the process has this node's id and is newer than this one.
func (r *roster) put(m ring.Member) (usurper bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.ID == r.self.ID {
		if m.Boot <= r.self.Boot { // this process itself, or one before it
			return false
		}
		usurper = true
	}
	if known, ok := r.others[m.ID]; ok && (known.Boot > m.Boot || known == m) {
		return false
	}
	r.others[m.ID] = m
	r.signalLocked()
	return usurper
}

// drop notes that a process is gone.
func (r *roster) drop(m ring.Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.others[m.ID]; ok && known.Boot == m.Boot {
		delete(r.others, m.ID)
		r.signalLocked()
	}
}

func (r *roster) signalLocked() {
	select {
	case r.changes <- struct{}{}:
	default: // the last signal still waits to be seen, and this change with it
	}
}
