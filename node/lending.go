package node

import (
	"slices"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/transport"
)

// lend answers a frame of another node about leases.
func (in *inbound) lend(f *transport.LeasesFrame) error {
	n := in.node
	if err := in.learn(f.Limits); err != nil {
		return err
	}
	v := n.view.Load()
	now := n.clock.Now()
	in.sending.Lock()
	defer in.sending.Unlock()
	in.grants.Grants = in.grants.Grants[:0]
	for i := range f.Requests {
		r := &f.Requests[i]
		g, err := in.group(r.Limits)
		if err != nil {
			return err
		}
		part := n.partitions.Partition(r.ID.Bytes())
		if g == nil || n.governor == nil && v.owner(part) != v.self || !n.hasAuthority(now) {
			continue // no answer is as good as one that was lost
		}
		r.Number.Incarnation = in.boot
		if a, ok, err := n.owned.Lend(part, r.ID, g, now, in.from, r.Request); ok && err == nil {
			in.grants.Grants = append(in.grants.Grants, transport.Grant{ID: r.ID, Answer: a})
		}
	}
	n.counters.leasesReceived.Add(uint64(len(f.Requests)))
	return in.sendGrantsLocked()
}

func (in *inbound) sendGrantsLocked() error {
	if len(in.grants.Grants) == 0 {
		return nil
	}
	in.frame = transport.AppendGrants(in.frame[:0], &in.grants)
	return in.stream.Send(in.frame)
}

// recall asks the holders of a group to give everything back. It is called by the table, and does not block.
func (n *Node) recall(id bucket.ID, holders []string) {
	n.serving.Lock()
	defer n.serving.Unlock()
	for _, name := range holders {
		if in := n.inbounds[name]; in != nil {
			in.recall(id)
		}
	}
}

// recall has a recall sent. Who reads slowly is told once of what it was not told yet.
func (in *inbound) recall(id bucket.ID) {
	in.passing.Lock()
	if !slices.Contains(in.recalls, id) {
		in.recalls = append(in.recalls, id)
	}
	in.passing.Unlock()
	in.signal()
}

func (n *Node) enroll(in *inbound) {
	n.serving.Lock()
	defer n.serving.Unlock()
	n.inbounds[in.from] = in
}

func (n *Node) strike(in *inbound) {
	n.serving.Lock()
	defer n.serving.Unlock()
	if n.inbounds[in.from] == in { // and not a newer stream of the same node
		delete(n.inbounds, in.from)
	}
}
