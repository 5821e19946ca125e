package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/ring"
)

// roster is gossip as it would be: who has started is known to all at once, who has died after a while, and so is who is
// cut off; and when a cut has healed the two sides soon know each other again.
type roster struct {
	mu      sync.Mutex
	handles map[string]*membership
}

// deadAfter is how long gossip takes to give somebody up.
const deadAfter = 4 * time.Second

// membership is one node's view of the roster. It implements node.Membership.
type membership struct {
	roster  *roster
	self    ring.Member
	changes chan struct{}
	gone    bool
	unseen  map[string]bool // who is cut off
}

func (r *roster) join(m ring.Member) *membership {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handles == nil {
		r.handles = make(map[string]*membership)
	}
	h := &membership{roster: r, self: m, changes: make(chan struct{}, 1), unseen: make(map[string]bool)}
	r.handles[m.ID] = h
	r.signalLocked()
	return h
}

func (r *roster) signalLocked() {
	for _, h := range r.handles {
		select {
		case h.changes <- struct{}{}:
		default:
		}
	}
}

// see lets gossip notice a cut between two nodes, or that it has healed.
func (r *roster) see(a, b string, cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, way := range [][2]string{{a, b}, {b, a}} {
		if h := r.handles[way[0]]; h != nil {
			h.unseen[way[1]] = cut
		}
	}
	r.signalLocked()
}

func (m *membership) Members() (all []ring.Member) {
	m.roster.mu.Lock()
	defer m.roster.mu.Unlock()
	for _, h := range m.roster.handles {
		if !h.gone && !m.unseen[h.self.ID] {
			all = append(all, h.self)
		}
	}
	slices.SortFunc(all, func(a, b ring.Member) int { return strings.Compare(a.ID, b.ID) })
	return all
}

var errNobody = errors.New("no seed answers")

// Join fails if nobody else is there: the seeds are others.
func (m *membership) Join(context.Context) (int, error) {
	if others := len(m.Members()) - 1; others > 0 {
		return others, nil
	}
	return 0, errNobody
}

func (m *membership) Changes() <-chan struct{} { return m.changes }

func (m *membership) SetState(_ context.Context, s ring.State) error {
	m.roster.mu.Lock()
	defer m.roster.mu.Unlock()
	m.self.State = s
	m.roster.signalLocked()
	return nil
}

func (m *membership) Leave(context.Context) error {
	m.roster.mu.Lock()
	defer m.roster.mu.Unlock()
	m.gone = true
	m.roster.signalLocked()
	return nil
}

// Close is what a crash looks like, unless Leave has come before.
func (m *membership) Close() error {
	time.AfterFunc(deadAfter, func() { m.Leave(context.Background()) })
	return nil
}

var _ node.Membership = (*membership)(nil)
