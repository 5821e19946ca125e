package node

import (
	"errors"
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
)

// ErrNotMember is wrapped by the error of ForgetMember.
var ErrNotMember = errors.New("no such member")

// ForgetMember drops a member that is gone for good from the list whose majority counts, without asking for a majority:
// use it when there is none, because too many have gone at once. The other members learn it from this node. Never
// forget a member that still runs somewhere: the two sides would both decide. The error wraps ErrNotMember if the list
// does not have it, or it is this node.
func (n *Node) ForgetMember(id string) error {
	g := n.governor
	if g == nil {
		return errFixed
	}
	var ok bool
	var members []string
	g.step(func(now bucket.Instant) {
		members = g.machine.List().Members()
		ok = g.machine.ForgetMember(now, id)
	})
	switch {
	case id == n.name:
		return fmt.Errorf("%w to be forgotten: %s is the node that was asked; ask another one", ErrNotMember, id)
	case !ok:
		return fmt.Errorf("%w: %q; the list of %s has %q", ErrNotMember, id, n.name, members)
	}
	n.log.Warn("a member is forgotten because an operator says so", "member", id)
	return nil
}
