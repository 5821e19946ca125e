package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
)

// pair is a cluster of two processes, this one and another, and keys that the other one owns.
type pair struct {
	handle *node.Handle
	peer   *peer
	keys   []string
}

// awayKeys is how many keys are checked: enough that no bucket is contended.
const awayKeys = 10_000

func newPair(tb testing.TB) *pair {
	tb.Helper()
	set, err := policies()
	if err != nil {
		tb.Fatal(err)
	}
	// No check may be decided here because the machine was busy elsewhere: a check that took long shows in p99 instead.
	n, err := node.New(node.Config{Name: "parent-process", Gossip: "127.0.0.1:0", Policies: set, Deadline: patience})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := n.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := n.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	h, err := n.Handle(policyName)
	if err != nil {
		tb.Fatal(err)
	}
	p := &pair{handle: h, peer: startPeer(tb, n.GossipAddr())}
	waitFor(tb, "both processes to agree on the ring", func() bool {
		members := n.Members(tb.Context())
		if s := n.Stats(); s.Members != 2 || s.LinksUp != 1 || len(members) != 2 {
			return false
		}
		a, b := members[0].Status, members[1].Status
		return a != nil && b != nil && a.Epoch == b.Epoch
	})
	p.findKeys(tb, n)
	return p
}

// findKeys checks keys until it has enough that the other process decided.
func (p *pair) findKeys(tb testing.TB, n *node.Node) {
	tb.Helper()
	const batch = 1000
	for first := 0; len(p.keys) < awayKeys; first += batch {
		keys := makeKeys(first, batch)
		reqs := make([]policy.Request, batch)
		for i, k := range keys {
			reqs[i] = policy.Request{Policy: policyName, Key: k}
		}
		for i, r := range n.CheckBatch(tb.Context(), reqs) {
			if r.Err != nil || r.Decision.DecidedBy != policy.Owner {
				tb.Fatalf("key %s: %+v, %v, want it decided by its owner", keys[i], r.Decision, r.Err)
			}
			if r.Decision.Node == peerName {
				p.keys = append(p.keys, keys[i])
			}
		}
		if first > 100*awayKeys {
			tb.Fatalf("the other process owns %d of %d keys, want about half", len(p.keys), first)
		}
	}
	p.keys = p.keys[:awayKeys]
}

// check makes one check. It fails unless the other process allowed it.
func (p *pair) check(key string) error {
	d, err := p.handle.Check(context.Background(), policy.Request{Key: key})
	switch {
	case err != nil:
		return fmt.Errorf("key %s: %w", key, err)
	case !d.Allowed || d.DecidedBy != policy.Owner || d.Node != peerName:
		return fmt.Errorf("key %s: %+v, want it allowed by %s, its owner", key, d, peerName)
	}
	return nil
}

// cpu returns the CPU time that both processes have used.
func (p *pair) cpu() (time.Duration, error) {
	there, err := p.peer.cpu()
	if err != nil {
		return 0, err
	}
	here, err := cpu()
	return here + there, err
}

func (p *pair) contender() contender { return contender{check: p.check, cpu: p.cpu} }

const (
	slice  = 250 * time.Millisecond // long for a round trip, short for the machine's moods
	warmUp = 100 * time.Millisecond
)

var callerCounts = []int{64, 128}

// BenchmarkForward times checks of keys that another process owns. One operation is a slice of a quarter of a second.
func BenchmarkForward(b *testing.B) {
	p := newPair(b)
	for _, callers := range callerCounts {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			c := p.contender()
			c.serve(b, callers, p.keys, warmUp)
			var sum served
			for b.Loop() {
				sum.add(c.serve(b, callers, p.keys, slice))
			}
			b.ReportMetric(0, "ns/op") // a slice takes its time by design
			sum.report(b, "")
		})
	}
}

func TestForwardedChecks(t *testing.T) {
	p := newPair(t)
	before, err := p.peer.cpu()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range p.keys[:100] {
		if err := p.check(k); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "CPU time of the other process to be used", func() bool {
		if err := p.check(p.keys[0]); err != nil {
			t.Fatal(err)
		}
		after, err := p.peer.cpu()
		if err != nil {
			t.Fatal(err)
		}
		return after > before
	})
}
