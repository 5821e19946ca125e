package node

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport"
)

// spread waits until each node owns some partitions, and agrees with the others.
func spread(t testing.TB, nodes []*Node) {
	t.Helper()
	waitFor(t, "the partitions to be spread", func() bool {
		for _, n := range nodes {
			if n.Stats().OwnedPartitions < n.cfg.Ring.Partitions/(2*len(nodes)) {
				return false
			}
		}
		return true
	})
	settled(t, nodes)
}

func soon(_ int, c *Config) { c.Settle = 20 * time.Millisecond }

// owed makes a debt at one node for a key, as its failure rule would, and returns the question.
func owing(t testing.TB, n *Node, req policy.Request, tokens int64) question {
	t.Helper()
	h := planOf(t, n, req.Policy)
	var q question
	if err := h.read(&req, &q); err != nil {
		t.Fatal(err)
	}
	n.owe(q.part, q.id, h.group, tokens)
	return q
}

func remaining(t testing.TB, n *Node, req policy.Request) int64 {
	t.Helper()
	req.CheckOnly = true
	return check(t, n, req).Remaining
}

// TestDebtsAreCharged: what a failure rule has admitted at one node is subtracted from the bucket, wherever that is.
func TestDebtsAreCharged(t *testing.T) {
	nodes := realCluster(t, 2, soon)
	spread(t, nodes)
	for _, owner := range nodes {
		for _, debtor := range nodes {
			req := policy.Request{Policy: "api", Key: "owned by " + owner.name}
			for i := 0; nodes[0].ownerOf(t, req) != owner.name; i++ {
				req.Key += "."
			}
			before := remaining(t, owner, req)
			owing(t, debtor, req, 3)
			waitFor(t, "the debt to be settled", func() bool { return debtor.debts.count.Load() == 0 })
			if bills := debtor.debts.bills(); len(bills) > 0 {
				t.Errorf("nothing is owed, and there are %d bills", len(bills))
			}
			if after := remaining(t, owner, req); after != before-3 {
				t.Errorf("a debt of 3 at %s to %s: %d remaining, were %d", debtor.name, owner.name, after, before)
			}
		}
	}
}

// ownerOf returns who decides a request.
func (n *Node) ownerOf(t testing.TB, req policy.Request) string {
	t.Helper()
	req.CheckOnly = true
	return check(t, n, req).Node
}

// TestBillIsChargedOnce: the same bill again is not charged again, not even by the next owner of the partition.
func TestBillIsChargedOnce(t *testing.T) {
	nodes := realCluster(t, 1, soon)
	first := nodes[0]
	req := policy.Request{Policy: "api", Key: "ann"}
	h := planOf(t, first, "api")
	var q question
	if err := h.read(&req, &q); err != nil {
		t.Fatal(err)
	}
	bill := transport.Bill{
		Partition: q.part, Seq: 7, Limits: []transport.LimitsBody{{Limits: h.group.Limits()}},
		Debts: []transport.Debt{{ID: q.id, Costs: []int64{4}}},
	}
	charge := func(n *Node) {
		t.Helper()
		if !n.governor.settleBill("elsewhere#1", &bill) {
			t.Fatalf("%s does not decide for the partition", n.name)
		}
	}
	charge(first)
	charge(first)
	if left := remaining(t, first, req); left != 6 {
		t.Fatalf("%d remaining after a bill of 4 came twice, want 6", left)
	}
	second := start(t, Config{
		Name: "n2", Gossip: "127.0.0.1:0", Join: []string{first.GossipAddr()}, Policies: policies(t), Deadline: 10 * time.Second,
		Settle: 20 * time.Millisecond,
	})
	settled(t, []*Node{first, second})
	if err := first.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	if owner := second.ownerOf(t, req); owner != "n2" {
		t.Fatalf("%s decides after the move, want n2", owner)
	}
	charge(second)
	if left := remaining(t, second, req); left != 6 {
		t.Errorf("%d remaining after the bill came again at the next owner, want 6", left)
	}
	bill.Seq++
	charge(second)
	if left := remaining(t, second, req); left != 2 {
		t.Errorf("%d remaining after another bill, want 2", left)
	}
	charge(second)
	bill.Seq++
	bill.Debts[0].Costs = []int64{bucket.MaxTokens}
	charge(second)
	if d := check(t, second, req); d.Allowed || d.RetryAfter > 2*time.Hour {
		t.Errorf("after a debt of everything: %+v, want denied, and no deeper than minus the burst", d)
	}
}

// TestBillOfAnother: who does not decide for a partition charges nothing, and says so.
func TestBillOfAnother(t *testing.T) {
	nodes := realCluster(t, 2, soon)
	spread(t, nodes)
	n := nodes[0]
	v := n.view.Load()
	for part := range v.route {
		if v.owner(part) != v.self {
			if n.governor.settleBill("x#1", &transport.Bill{Partition: part, Seq: 1}) {
				t.Fatalf("%s charged a bill for partition %d, which it does not own", n.name, part)
			}
			break
		}
	}
	if _, err := n.governor.settleBills(transport.Hello{ID: "x"}, transport.AppendBill(nil, &transport.Bill{Partition: 60_000})); err == nil {
		t.Error("a bill for a partition that there is not was taken")
	}
	if _, err := n.governor.settleBills(transport.Hello{ID: "x"}, []byte{1}); err == nil {
		t.Error("a bill that was cut short was taken")
	}
}

// TestDebtsAreBounded: more buckets are not owed than there is room for, and a bill holds what a call can carry.
func TestDebtsAreBounded(t *testing.T) {
	n := realCluster(t, 1, soon)[0]
	n.governor.mu.Lock() // nothing is settled meanwhile
	defer n.governor.mu.Unlock()
	g, err := n.limits.Intern([]bucket.Limit{{Burst: 5}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Release()
	for i := range maxOwed + 10 {
		n.owe(3, bucket.ID{Hi: 1, Lo: uint64(i)}, g, 1)
	}
	if got := n.debts.count.Load(); got != maxOwed {
		t.Errorf("%d buckets are owed, want %d", got, maxOwed)
	}
	if got := n.counters.debtsDropped.Load(); got != 10 {
		t.Errorf("%d debts dropped, want 10", got)
	}
	bills := n.debts.bills()
	if len(bills) != 1 || len(bills[0].Debts) != transport.MaxDebts {
		t.Fatalf("%d bills, the first of %d debts", len(bills), len(bills[0].Debts))
	}
	if again := n.debts.bills(); again[0].Seq != bills[0].Seq || len(again[0].Debts) != len(bills[0].Debts) {
		t.Error("a bill that is not settled changes")
	}
	if n.debts.paid(3, bills[0].Seq); n.debts.count.Load() != maxOwed-transport.MaxDebts {
		t.Errorf("%d are owed after one bill was paid", n.debts.count.Load())
	}
}
