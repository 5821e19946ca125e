package node

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/node/ownership"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
)

// The states of members that are in none of their own making.
const (
	guest  = "guest"
	silent = "silent"
	lost   = "lost"
)

// MemberStatus is a member as one node sees it.
type MemberStatus struct {
	ID string `json:"id"`
	// State is joining, active or leaving; guest if the list does not have it, silent if it was not heard for as long as
	// authority lasts, lost if the node that was asked has confirmed its loss.
	State string `json:"state"`
	// Peer is its address for checks; empty if it is not known.
	Peer string `json:"peer"`
	Self bool   `json:"self"`
	// Listed says that it is one of those whose majority counts, and Acknowledges that it acknowledges the node that was
	// asked. Both are true where members never change.
	Listed       bool `json:"listed"`
	Acknowledges bool `json:"acknowledges"`
	// HeardSecs and AcknowledgedSecs say how long ago it was heard, and has acknowledged the node that was asked; nil if
	// never, for that node itself, and where members never change.
	HeardSecs        *float64 `json:"heard_seconds,omitempty"`
	AcknowledgedSecs *float64 `json:"acknowledged_seconds,omitempty"`
	// Link is the connection to it: connecting, up, down; empty for this node, and for members that it has none to.
	Link string `json:"link,omitempty"`
	// Error says why Link is down or Status missing.
	Error string `json:"error,omitempty"`
	// Status is what the member says of itself; nil if it did not answer.
	Status *Status `json:"status,omitempty"`
}

// askTimeout bounds how long Members waits for each of the others, all at once.
const askTimeout = time.Second

// Members returns all members that this node knows, by id, those who are silent or only guests included, and asks each
// what it knows itself: whether all agree is seen by their epochs. Nil before Start has returned. Safe for concurrent use.
func (n *Node) Members(ctx context.Context) []MemberStatus {
	if stage(n.stage.Load()) == made {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var out []MemberStatus
	var links []*link
	if g := n.governed(); g != nil {
		out, links = g.members()
	} else {
		out, links = n.fixedMembers()
	}
	var asking sync.WaitGroup
	for i := range out {
		switch o, l := &out[i], links[i]; {
		case o.Self:
			s := n.Status()
			o.Status, o.State = &s, s.State
		case l != nil:
			asking.Go(func() { o.ask(ctx, l) })
		default:
			o.Error = "there is no way to it"
		}
	}
	asking.Wait()
	return out
}

// fixedMembers returns those of a node whose members never change, and the links to them.
func (n *Node) fixedMembers() (out []MemberStatus, links []*link) {
	for _, m := range n.membership.Members() {
		out = append(out, MemberStatus{
			ID: m.ID, State: m.State.String(), Peer: m.Peer, Self: m.ID == n.name, Listed: true, Acknowledges: true,
		})
		links = append(links, n.linkTo(m))
	}
	return out, links
}

// members returns those that this node knows, and the links to them.
func (g *governor) members() (out []MemberStatus, links []*link) {
	n := g.node
	known := n.knownMembers()
	ways := *n.ways.Load()
	g.mu.Lock()
	r := g.machine.Report(n.timer.Now())
	g.mu.Unlock()
	for _, m := range r.Members {
		o := MemberStatus{
			ID: m.ID, State: stateOf(m, known[m.ID]), Self: m.ID == n.name, Listed: m.Listed, Acknowledges: m.Acknowledges,
		}
		if !o.Self {
			o.HeardSecs, o.AcknowledgedSecs = secs(m.Heard), secs(m.Acknowledged)
		}
		if o.Peer = known[m.ID].Peer; o.Peer == "" && ways[m.ID] != nil {
			o.Peer = ways[m.ID].member.Peer
		}
		out, links = append(out, o), append(links, ways[m.ID])
	}
	return out, links
}

// knownMembers returns whom membership knows, by id.
func (n *Node) knownMembers() map[string]ring.Member {
	known := make(map[string]ring.Member)
	for _, m := range n.membership.Members() {
		known[m.ID] = m
	}
	return known
}

// stateOf says where a member is in its life, by what the machine and what gossip knows of it.
func stateOf(m ownership.MemberReport, known ring.Member) string {
	switch {
	case !m.Listed && (known.State == ring.Joining || known.State == ring.Leaving):
		return known.State.String()
	case !m.Listed:
		return guest
	case m.Lost:
		return lost
	case m.Silent:
		return silent
	}
	return m.State.String()
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
