package node

import (
	"maps"
	"slices"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/node/ownership"
	"github.com/drossel-dev/drossel/ring"
)

// meet opens links to all whom gossip knows, and tells the machine. Who is on the list of members keeps its link though
// gossip has lost it: it is tried again and again, so that a cut heals as soon as it can.
func (n *Node) meet() {
	known := n.membership.Members()
	var peers []ownership.Member
	for _, m := range known {
		if m.ID != n.name {
			peers = append(peers, ownership.Member{ID: m.ID, Incarnation: m.Boot})
		}
	}
	n.governor.step(func(now bucket.Instant) { n.governor.machine.Peers(now, peers) })
	n.governor.mu.Lock()
	list := n.governor.machine.List()
	n.governor.mu.Unlock()

	n.viewing.Lock()
	if stage(n.stage.Load()) == ended {
		n.viewing.Unlock()
		return
	}
	current := make(map[string]ring.Member)
	for _, m := range known {
		m.State = ring.Active // a link stays the same whatever its member is doing
		current[m.ID] = m
	}
	var gone []*link
	for m, l := range n.links {
		if now, ok := current[m.ID]; ok && now != m || !ok && !list.Has(m.ID) {
			delete(n.links, m)
			n.retiring[l] = struct{}{}
			gone = append(gone, l)
		}
	}
	for _, m := range current {
		if m.ID != n.name && n.links[m] == nil {
			n.links[m] = n.newLink(m)
		}
	}
	ways := make(map[string]*link, len(n.links))
	for m, l := range n.links {
		ways[m.ID] = l
	}
	n.ways.Store(&ways)
	n.publishLinksLocked()
	n.viewing.Unlock()

	n.governor.step(func(now bucket.Instant) { n.lookAgain(now) })
	for _, l := range gone {
		n.goroutines.Go(func() { n.retire(l) })
	}
}

// forsaken returns the links to nodes that have decided something as far as the old view knew, and nothing any more. If
// they are silent, what was sent there is better asked elsewhere.
func forsaken(old, v *view) (links []*link) {
	decides := func(v *view) map[*link]bool {
		used := make(map[*link]bool, len(v.links))
		for part := range v.route {
			if l := v.link(v.owner(part)); l != nil {
				used[l] = true
			}
		}
		return used
	}
	still := decides(v)
	for l := range decides(old) {
		if !still[l] {
			links = append(links, l)
		}
	}
	return links
}

// lookAgain makes a view of what the machine knows. The governor is locked.
func (n *Node) lookAgain(now bucket.Instant) {
	m := n.governor.machine
	ways := *n.ways.Load()
	list := m.List()
	names := append(slices.Collect(maps.Keys(ways)), n.name)
	for _, id := range list.Members() {
		if ways[id] == nil && id != n.name {
			names = append(names, id)
		}
	}
	slices.Sort(names)
	v := &view{epoch: list.Digest(), names: names, links: make([]*link, len(names)), members: list.Members()}
	index := make(map[string]int, len(names))
	for i, id := range names {
		index[id], v.links[i] = i, ways[id]
	}
	v.self = index[n.name]
	v.rank = slices.Index(v.members, n.name)
	v.route = make([]route, n.cfg.Ring.Partitions)
	for part := range v.route {
		r := &v.route[part]
		r.owner = nobody
		if _, way := m.Decider(now, part); way != "" {
			if i, ok := index[way]; ok {
				r.owner = int16(i)
			}
		}
		r.given = m.Frozen(part)
	}
	old := n.view.Swap(v)
	for _, l := range forsaken(old, v) {
		if !m.Hears(now, l.member.ID) {
			l.giveUp()
		}
	}
	n.turns.turn()
	if old.epoch != v.epoch {
		n.log.Info("members changed", "epoch", epochText(v.epoch), "members", v.members, "owned", v.ownedPartitions())
		select {
		case n.relook <- struct{}{}: // links to those who are not there any more are closed
		default:
		}
	}
}
