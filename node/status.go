package node

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
)

// Status is what one node knows of itself.
type Status struct {
	ID string `json:"id"`
	// Boot is the incarnation: it differs after a restart.
	Boot  uint64 `json:"boot"`
	State string `json:"state"`
	// Epoch is that of the node's ring, in hex; nodes that agree on the members have the same.
	Epoch      string  `json:"epoch"`
	Members    int     `json:"members"`    // in its ring
	Partitions int     `json:"partitions"` // of them owned by this node
	Groups     int     `json:"groups"`     // held in memory
	TableBytes int64   `json:"table_bytes"`
	UptimeSecs float64 `json:"uptime_seconds"`
}

// Status returns this node's own. Safe for concurrent use.
func (n *Node) Status() Status {
	v := n.view.Load()
	t := n.owned.Stats()
	s := Status{
		ID: n.name, Boot: n.boot, State: n.ownState().String(), Epoch: epochText(v.epoch), Partitions: v.ownedPartitions(),
		Groups: t.Groups, TableBytes: t.Bytes, UptimeSecs: n.elapsed().Round(time.Millisecond).Seconds(),
	}
	s.Members = len(v.members)
	return s
}

// MemberStatus is a member as one node sees it.
type MemberStatus struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Peer  string `json:"peer"`
	Self  bool   `json:"self"`
	// Link is the connection to it: connecting, up, down; empty for this node and for members outside the ring.
	Link string `json:"link,omitempty"`
	// Error says why Link is down or Status missing.
	Error string `json:"error,omitempty"`
	// Status is what the member says of itself; nil if it did not answer.
	Status *Status `json:"status,omitempty"`
}

// askTimeout bounds how long Members waits for each of the others, all at once.
const askTimeout = time.Second

// Members returns all members that this node knows, and asks each what it knows itself: whether all see the same ring
// is seen by their epochs. Nil before Start. Safe for concurrent use.
func (n *Node) Members(ctx context.Context) []MemberStatus {
	if stage(n.stage.Load()) == made {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	known := n.membership.Members()
	out := make([]MemberStatus, len(known))
	n.viewing.Lock()
	links := make([]*link, len(known))
	for i, m := range known {
		m.State = ring.Active // links are by the member as it is in the ring
		links[i] = n.links[m]
	}
	n.viewing.Unlock()
	var asking sync.WaitGroup
	for i, m := range known {
		o := &out[i]
		*o = MemberStatus{ID: m.ID, State: m.State.String(), Peer: m.Peer, Self: m.ID == n.name}
		if o.Self {
			s := n.Status()
			o.Status, o.State = &s, s.State
			continue
		}
		l := links[i]
		if l == nil {
			continue
		}
		asking.Go(func() { o.ask(ctx, l) })
	}
	asking.Wait()
	return out
}

func (o *MemberStatus) ask(ctx context.Context, l *link) {
	l.mu.Lock()
	o.Link = l.state.String()
	if l.lastErr != nil {
		o.Error = l.lastErr.Error()
	}
	l.mu.Unlock()
	body, err := l.bulk.call(ctx, transport.AskStatus, nil)
	s := new(Status)
	if err == nil {
		err = json.Unmarshal(body, s)
	}
	switch {
	case err == nil:
		o.Status = s
	case o.Error == "":
		o.Error = err.Error()
	}
}

// RingStatus is the placement that one node goes by.
type RingStatus struct {
	Node       string      `json:"node"`
	Epoch      string      `json:"epoch"`
	Partitions int         `json:"partitions"`
	Parameters string      `json:"parameters"`
	Members    []RingShare `json:"members"`
}

// RingShare is what one member owns.
type RingShare struct {
	ID         string  `json:"id"`
	Peer       string  `json:"peer"`
	Partitions int     `json:"partitions"`
	Share      float64 `json:"share"` // of all partitions, 0 to 1
	// FailsOver counts where its partitions would go if it were lost, by member.
	FailsOver map[string]int `json:"fails_over,omitempty"`
}

// Ring returns the placement that this node goes by. Safe for concurrent use.
func (n *Node) Ring() RingStatus {
	v := n.view.Load()
	s := RingStatus{Node: n.name, Epoch: epochText(v.epoch), Partitions: n.cfg.Ring.Partitions, Parameters: n.cfg.Ring.String()}
	if v.ring == nil {
		return s
	}
	counts := v.ring.Counts()
	members := v.ring.Members()
	for i, m := range members {
		s.Members = append(s.Members, RingShare{ID: m.ID, Peer: m.Peer, Partitions: counts[i],
			Share: float64(counts[i]) / float64(s.Partitions)})
	}
	for p, next := range v.successors() {
		share := &s.Members[v.ring.Owner(p)]
		if share.FailsOver == nil {
			share.FailsOver = make(map[string]int)
		}
		share.FailsOver[members[next].ID]++
	}
	return s
}
