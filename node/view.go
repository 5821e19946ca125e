package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/ring"
)

// view is what a node goes by until membership changes: who owns what, and the way there. It is immutable, and read by
// every check through one atomic pointer.
type view struct {
	ring  *ring.Ring // nil while nobody owns anything
	self  int        // this node's index in the ring, or outside
	links []*link    // by index; nil for this node
}

// Owners are indexes into the ring, or one of these.
const (
	outside = -1 // this node is not in the ring, so no owner is
	nobody  = -2
)

func (v *view) owner(partition int) int {
	if v.ring == nil {
		return nobody
	}
	return v.ring.Owner(partition)
}

// follow turns changes of membership into views, until ctx ends.
func (n *Node) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.membership.Changes():
			n.look()
		}
	}
}

// look makes a view of the members there are now. A link to a new member is tried before checks depend on it.
func (n *Node) look() {
	n.looking.Lock()
	defer n.looking.Unlock()
	v, gone, ok := n.draft()
	if !ok {
		return
	}
	n.connected(v)
	old := n.view.Swap(v)
	// Links are closed after the view that used them is out of use; a check that still holds it decides by rule.
	for _, l := range gone {
		l.close()
	}
	if old.epoch() != v.epoch() {
		n.log.Info("ring changed", "epoch", epochText(v.epoch()), "members", slices.Collect(v.names), "owned", v.ownedPartitions())
	}
}

// draft makes a view with its links, and says which links it has no use for. It is not ok if the node has ended or the
// members can't be placed; the last view stays in use then.
func (n *Node) draft() (v *view, gone map[ring.Member]*link, ok bool) {
	n.viewing.Lock()
	defer n.viewing.Unlock()
	if stage(n.stage.Load()) == ended {
		return nil, nil, false
	}
	var members []ring.Member
	for _, m := range n.membership.Members() {
		if m.ID == n.name {
			m.State = n.state
		}
		if m.State == ring.Active {
			members = append(members, m)
		}
	}
	v = &view{self: outside}
	r, err := n.builder.Place(members)
	switch {
	case err == nil:
		v.ring, v.self = r, r.Index(n.name)
	case !errors.Is(err, ring.ErrNoMembers):
		n.log.Error("the ring could not be made; the last one stays in use", "error", err)
		return nil, nil, false
	}
	gone = maps.Clone(n.links)
	if v.ring != nil {
		v.links = make([]*link, len(v.ring.Members()))
		for i, m := range v.ring.Members() {
			if i == v.self {
				continue
			}
			l := n.links[m]
			if l == nil {
				l = n.newLink(m)
				n.links[m] = l
			}
			v.links[i] = l
			delete(gone, m)
		}
	}
	for m := range gone {
		delete(n.links, m)
	}
	return v, gone, true
}

// connected waits until every link of a view was tried once, for the time that an attempt may take at the most.
func (n *Node) connected(v *view) {
	patience := time.NewTimer(dialTimeout)
	defer patience.Stop()
	for _, l := range v.links {
		if l == nil {
			continue
		}
		select {
		case <-l.tried:
		case <-patience.C:
			return
		case <-n.ending:
			return
		}
	}
}

// epoch is 0 for a view without a ring.
func (v *view) epoch() uint64 {
	if v.ring == nil {
		return 0
	}
	return v.ring.Epoch()
}

func (v *view) names(yield func(string) bool) {
	if v.ring == nil {
		return
	}
	for _, m := range v.ring.Members() {
		if !yield(m.ID) {
			return
		}
	}
}

func (v *view) ownedPartitions() int {
	if v.self == outside {
		return 0
	}
	return v.ring.Counts()[v.self]
}

// partition is the ring's, and needs no ring: it depends on the number of partitions alone.
func (n *Node) partition(id bucket.ID) int {
	return ring.PartitionOf(id.Bytes(), n.cfg.Ring.Partitions)
}

// successors returns where each partition would go if its owner were lost; nil if the view is out of date by now.
func (n *Node) successors(v *view) []int {
	n.viewing.Lock()
	defer n.viewing.Unlock()
	if n.view.Load() != v {
		return nil
	}
	next, err := n.builder.Successors()
	if err != nil {
		n.log.Error("failover successors could not be computed", "error", err)
	}
	return next
}

func epochText(e uint64) string { return fmt.Sprintf("%016x", e) }
