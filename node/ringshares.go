package node

import (
	"cmp"
	"slices"

	"github.com/drossel-dev/drossel/node/ownership"
	"github.com/drossel-dev/drossel/ring"
)

// fixed tells of a ring whose owners decide.
func (s *RingStatus) fixed(v *view) {
	counts := v.ring.Counts()
	members := v.ring.Members()
	for i, m := range members {
		s.Members = append(s.Members, RingShare{
			ID: m.ID, Peer: m.Peer, Partitions: counts[i], Placed: counts[i], Share: float64(counts[i]) / float64(s.Partitions),
		})
	}
	for p, next := range v.successors() {
		s.Members[v.ring.Owner(p)].failsOver(members[next].ID)
	}
}

func (s *RingShare) failsOver(to string) {
	if s.FailsOver == nil {
		s.FailsOver = make(map[string]int)
	}
	s.FailsOver[to]++
}

// shares tells what each member holds, should hold, and where that would go.
func (s *RingStatus) shares(n *Node, r *ownership.Report) {
	known := n.knownMembers()
	byID := make(map[string]*RingShare)
	share := func(id string) *RingShare {
		m := byID[id]
		if m == nil {
			m = &RingShare{ID: id, Peer: known[id].Peer}
			byID[id] = m
		}
		return m
	}
	for _, m := range r.Members {
		if m.Listed {
			share(m.ID)
		}
	}
	next := n.failovers(r.Placed)
	for part, p := range r.Partitions {
		if p.Claim.Owner != "" {
			m := share(p.Claim.Owner)
			m.Partitions++
			if p.Here == ownership.HereCopy {
				m.Copies++
			}
		}
		if p.Placed != "" {
			m := share(p.Placed)
			if m.Placed++; next != nil {
				m.failsOver(r.Placed[next[part]])
			}
		}
	}
	for _, m := range byID {
		m.Share = float64(m.Partitions) / float64(s.Partitions)
		s.Members = append(s.Members, *m)
	}
	slices.SortFunc(s.Members, func(a, b RingShare) int { return cmp.Compare(a.ID, b.ID) })
}

// failovers returns where each partition would go if its owner were lost, as an index into ids; nil if there is nowhere.
// One is computed at a time, whoever asks.
func (n *Node) failovers(ids []string) []int {
	if len(ids) < 2 {
		return nil
	}
	n.looking.Lock()
	defer n.looking.Unlock()
	members := make([]ring.Member, len(ids))
	for i, id := range ids {
		members[i] = ring.Member{ID: id, State: ring.Active}
	}
	b, err := ring.NewBuilder(n.cfg.Ring)
	var r *ring.Ring
	if err == nil {
		r, err = b.Place(members)
	}
	if err != nil {
		n.log.Error("failover successors could not be computed", "error", err)
		return nil
	}
	return n.successorsOf(r)
}
