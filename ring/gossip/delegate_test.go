package gossip

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/drossel-dev/drossel/ring"
)

func TestWhoIsAdmitted(t *testing.T) {
	theirs := goldenMeta
	theirs.fingerprint = "p=other"
	newer := goldenMeta.encode()
	newer[0] = 9
	for _, test := range []struct {
		name string
		node memberlist.Node
		want error
		said string
	}{
		{"one of ours", memberlist.Node{Name: "node-/bee", Meta: goldenMeta.encode()}, nil, ""},
		{"other parameters", memberlist.Node{Name: "node-/bee", Meta: theirs.encode()},
			ErrParameters, `has "p=other", this node "m" has "p="`},
		{"another name", memberlist.Node{Name: "node-/bef", Meta: goldenMeta.encode()},
			errMeta, `it is of process "node-/bee"`},
		{"another version", memberlist.Node{Name: "node-/bee", Meta: newer}, errMeta, "its version is 9, this node knows 1"},
		{"another program", memberlist.Node{Name: "host"}, errMeta, `node "host" at 10.0.0.1:7946: unreadable record`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &delegate{roster: newRoster(ring.Member{ID: "m"}), fingerprint: goldenMeta.fingerprint}
			good := memberlist.Node{Name: "node-/bee", Meta: goldenMeta.encode()}
			test.node.Addr, test.node.Port = net.IPv4(10, 0, 0, 1), 7946
			one, all := d.NotifyAlive(&test.node), d.NotifyMerge([]*memberlist.Node{&good, &test.node})
			for _, err := range []error{one, all} {
				if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.said) {
					t.Errorf("got %v, want %v that says %q", err, test.want, test.said)
				}
			}
			for _, gone := range []memberlist.NodeStateType{memberlist.StateDead, memberlist.StateLeft} {
				test.node.State = gone
				if err := d.NotifyMerge([]*memberlist.Node{&test.node}); err != nil {
					t.Errorf("a node that is gone stands in the way: %v", err)
				}
			}
		})
	}
}
