package gossip

import (
	"fmt"
	"log/slog"

	"github.com/hashicorp/memberlist"

	"github.com/drossel-dev/drossel/ring"
)

// delegate answers memberlist's callbacks. Most of them run under memberlist's lock: a call back into it would
// deadlock, and a callback that blocks stops the whole node's gossip. So they copy, note and return.
type delegate struct {
	roster      *roster
	journal     *journal
	fingerprint string
}

var (
	_ memberlist.Delegate         = (*delegate)(nil)
	_ memberlist.EventDelegate    = (*delegate)(nil)
	_ memberlist.AliveDelegate    = (*delegate)(nil)
	_ memberlist.MergeDelegate    = (*delegate)(nil)
	_ memberlist.ConflictDelegate = (*delegate)(nil)
)

// NodeMeta is what this node says about itself. The limit is memberlist's, and metaMax is below it.
func (d *delegate) NodeMeta(int) []byte {
	return meta{member: d.roster.here(), fingerprint: d.fingerprint}.encode()
}

// NotifyAlive refuses a single node before memberlist takes it in, however it heard of it.
func (d *delegate) NotifyAlive(node *memberlist.Node) error { return d.admit(node) }

// NotifyMerge refuses a whole cluster, on both sides of a join.
func (d *delegate) NotifyMerge(nodes []*memberlist.Node) error {
	for _, node := range nodes {
		if node.State == memberlist.StateDead || node.State == memberlist.StateLeft {
			continue
		}
		if err := d.admit(node); err != nil {
			return err
		}
	}
	return nil
}

func (d *delegate) admit(node *memberlist.Node) error {
	m, err := decodeMeta(node.Meta)
	if err != nil {
		return fmt.Errorf("node %q at %s: %w", node.Name, node.Address(), err)
	}
	if node.Name != name(m.member) {
		return fmt.Errorf("%w: it is of process %q and came from %q at %s",
			errMeta, name(m.member), node.Name, node.Address())
	}
	if m.fingerprint != d.fingerprint {
		return fmt.Errorf("%w: node %q at %s has %q, this node %q has %q; start all nodes of a cluster with the same",
			ErrParameters, m.member.ID, node.Address(), m.fingerprint, d.roster.here().ID, d.fingerprint)
	}
	return nil
}

// NotifyJoin notes a node that is alive. NotifyAlive has let it through, so its meta can be read.
func (d *delegate) NotifyJoin(node *memberlist.Node) {
	m, err := decodeMeta(node.Meta)
	if err != nil {
		return
	}
	if d.roster.put(m.member) {
		d.clash(d.roster.here(), m.member, node)
	}
}

// NotifyUpdate notes a node that says something else about itself.
func (d *delegate) NotifyUpdate(node *memberlist.Node) { d.NotifyJoin(node) }

// NotifyLeave notes a node that has left or was found dead.
func (d *delegate) NotifyLeave(node *memberlist.Node) {
	if m, err := decodeMeta(node.Meta); err == nil {
		d.roster.drop(m.member)
	}
}

// NotifyConflict reports two processes with the same id and the same boot at different addresses. The first one stays.
func (d *delegate) NotifyConflict(existing, other *memberlist.Node) {
	if m, err := decodeMeta(existing.Meta); err == nil {
		d.clash(m.member, m.member, other)
	}
}

func (d *delegate) clash(one, other ring.Member, node *memberlist.Node) {
	d.journal.add(slog.LevelError,
		"two processes use one node id, and only the newer is a member; stop one, or give it another id",
		slog.String("id", one.ID), slog.Uint64("boot", one.Boot),
		slog.Uint64("other_boot", other.Boot), slog.String("other_address", node.Address()))
}

// The rest of memberlist.Delegate is for user messages, which it may lose; nothing of ours travels that way.

func (d *delegate) NotifyMsg([]byte)                {}
func (d *delegate) GetBroadcasts(int, int) [][]byte { return nil }
func (d *delegate) LocalState(bool) []byte          { return nil }
func (d *delegate) MergeRemoteState([]byte, bool)   {}
