package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/ring"
)

// view is what a node goes by until something changes: who decides what, and the way there. It is immutable, and read by
// every check through one atomic pointer.
type view struct {
	epoch uint64   // names the list that it was made from
	names []string // the nodes it speaks of, by index
	self  int      // this node's index, or outside
	links []*link  // by index; nil for this node, and where there is no way
	route []route  // by partition; nil while nobody decides anything

	members []string // who shares a limit when its decider can't be asked
	rank    int      // this node's place among them, or outside

	// ring is nil where ownership moves: then the machine says who should have what.
	ring *ring.Ring
	// successors says where each partition would go if its owner were lost. It is computed when first asked for.
	successors func() []int
}

// route is the way to whoever decides for a partition.
type route struct {
	owner int16 // an index, or nobody
	// given says that it is on its way from here to that owner, and that checks wait there.
	given bool
}

// Owners are indexes into names, or one of these.
const (
	outside = -1 // this node is not among the names, so no owner is
	nobody  = -2
)

func (v *view) owner(partition int) int {
	if v.route == nil {
		return nobody
	}
	return int(v.route[partition].owner)
}

// link is the way to an owner; nil if there is none.
func (v *view) link(owner int) *link {
	if owner < 0 {
		return nil
	}
	return v.links[owner]
}

// follow turns changes of membership into views, until ctx ends.
func (n *Node) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.membership.Changes():
		case <-n.relook:
		}
		if n.governor != nil {
			n.meet()
		} else {
			n.look()
		}
	}
}

// look makes a view of the members there are now. A link to a new member is tried before checks depend on it.
func (n *Node) look() {
	n.looking.Lock()
	defer n.looking.Unlock()
	v, fresh, gone := n.draft()
	if v == nil {
		return
	}
	if len(gone) == 0 { // who was lost must not be asked a moment longer than needed
		n.tried(fresh)
	}
	old := n.view.Swap(v)
	for _, l := range gone {
		n.goroutines.Go(func() { n.retire(l) })
	}
	if old.epoch != v.epoch {
		n.log.Info("ring changed", "epoch", epochText(v.epoch), "members", v.names, "owned", v.ownedPartitions())
	}
}

// draft makes a view with its links, and says which of them are new and which others it has no use for. It is nil if
// the last view stays in use: the node has ended, the members can't be placed, or there are none. The last node to
// leave thus keeps its keys to the end.
func (n *Node) draft() (v *view, fresh, gone []*link) {
	n.viewing.Lock()
	defer n.viewing.Unlock()
	if stage(n.stage.Load()) == ended {
		return nil, nil, nil
	}
	var members []ring.Member
	superseded := false
	for _, m := range n.membership.Members() {
		if m.ID == n.name {
			if superseded = m.Boot > n.boot; !superseded { // else a newer process has this node's name, and its keys
				m.State = n.state
			}
		}
		if m.State == ring.Active {
			members = append(members, m)
		}
	}
	r, err := n.builder.Place(members)
	if err != nil {
		if !errors.Is(err, ring.ErrNoMembers) {
			n.log.Error("the ring could not be made; the last one stays in use", "error", err)
		}
		return nil, nil, nil
	}
	if was := n.superseded.Swap(superseded); superseded && !was {
		n.log.Error("another process has this node's name and is newer: it has the keys now. Give each node a --name of " +
			"its own, and restart this one")
	}
	v = fixedView(r, n.name)
	v.successors = sync.OnceValue(func() []int { return n.successorsOf(r) })
	if superseded {
		v.self, v.rank = outside, outside
	}
	unused := maps.Clone(n.links)
	for i, m := range r.Members() {
		if i == v.self {
			continue
		}
		l := n.links[m]
		if l == nil {
			l = n.newLink(m)
			n.links[m] = l
			fresh = append(fresh, l)
		}
		v.links[i] = l
		delete(unused, m)
	}
	for m, l := range unused {
		delete(n.links, m)
		n.retiring[l] = struct{}{}
		gone = append(gone, l)
	}
	n.publishLinksLocked()
	return v, fresh, gone
}

// publishLinksLocked lets those who go over all open links see them without a lock.
func (n *Node) publishLinksLocked() {
	open := slices.AppendSeq(slices.Collect(maps.Values(n.links)), maps.Keys(n.retiring))
	n.open.Store(&open)
}

// retire closes a link that is no longer in use, once the checks of those who still hold the old view have had their
// time: closed at once, they would be decided by rule.
func (n *Node) retire(l *link) {
	grace := time.NewTimer(n.cfg.Deadline)
	defer grace.Stop()
	select {
	case <-grace.C:
	case <-n.ending:
	}
	l.close()
	n.viewing.Lock()
	defer n.viewing.Unlock()
	delete(n.retiring, l)
	n.publishLinksLocked()
}

// tried waits until every one of these links was tried once, for the time that an attempt may take at the most.
func (n *Node) tried(links []*link) {
	patience := time.NewTimer(dialTimeout)
	defer patience.Stop()
	for _, l := range links {
		select {
		case <-l.tried:
		case <-patience.C:
			return
		case <-n.ending:
			return
		}
	}
}

// fixedView is that of a ring whose owners decide.
func fixedView(r *ring.Ring, name string) *view {
	v := &view{ring: r, epoch: r.Epoch(), self: r.Index(name), links: make([]*link, len(r.Members()))}
	for _, m := range r.Members() {
		v.names = append(v.names, m.ID)
	}
	v.members, v.rank = v.names, v.self
	v.route = make([]route, r.Partitions())
	for part := range v.route {
		v.route[part].owner = int16(r.Owner(part))
	}
	return v
}

// ownedPartitions counts those that this node decides for.
func (v *view) ownedPartitions() (owned int) {
	for part := range v.route {
		if v.owner(part) == v.self {
			owned++
		}
	}
	return owned
}

// successorsOf computes where the partitions of a ring would go. It takes a quarter of a second for a hundred members,
// so it uses a builder of its own and holds nobody up.
func (n *Node) successorsOf(r *ring.Ring) []int {
	b, err := ring.NewBuilder(n.cfg.Ring)
	if err == nil {
		_, err = b.Place(r.Members())
	}
	var next []int
	if err == nil {
		next, err = b.Successors()
	}
	if err != nil {
		n.log.Error("failover successors could not be computed", "error", err)
	}
	return next
}

func epochText(e uint64) string { return fmt.Sprintf("%016x", e) }
