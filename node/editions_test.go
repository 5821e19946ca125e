package node

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport/mem"
)

// text is a text of one policy.
func text(burst int) string {
	return fmt.Sprintf("version: 1\npolicies: {api: {key: [user], limits: [{rate: 1/h, burst: %d}]}}\n", burst)
}

// limitOf is the burst by which a node decides.
func limitOf(t *testing.T, n *Node) int64 {
	t.Helper()
	d, err := n.Check(t.Context(), policy.Request{Policy: "api", Key: "ann", CheckOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return d.Limit
}

func apply(t *testing.T, n *Node, text string) Applied {
	t.Helper()
	a, err := n.Apply(t.Context(), "limits.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// keeper is a Store in memory.
type keeper struct {
	kept    []Edition
	entries map[bucket.ID]table.Entry
	err     error
}

func (k *keeper) Entries(after bucket.ID, most int) (all []table.Entry, err error) {
	for _, e := range slices.SortedFunc(maps.Values(k.entries), func(a, b table.Entry) int { return compareIDs(a.ID, b.ID) }) {
		if compareIDs(e.ID, after) > 0 && len(all) < most {
			all = append(all, e)
		}
	}
	return all, k.err
}

func compareIDs(a, b bucket.ID) int { return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo)) }

func (k *keeper) KeepEntries(entries []table.Entry) error {
	if k.err != nil {
		return k.err
	}
	if k.entries == nil {
		k.entries = make(map[bucket.ID]table.Entry)
	}
	for _, e := range entries {
		if e.Number > k.entries[e.ID].Number {
			k.entries[e.ID] = e
		}
	}
	return nil
}

func (k *keeper) Editions() ([]Edition, error) { return k.kept, nil }

func (k *keeper) KeepEdition(e Edition) error {
	if k.err == nil {
		k.kept = append(k.kept, e)
	}
	return k.err
}

func (k *keeper) ForgetEntries(entries []table.Entry) error {
	for _, e := range entries {
		if k.entries[e.ID].Number == e.Number {
			delete(k.entries, e.ID)
		}
	}
	return k.err
}

// TestApply: what is applied at one node applies at all within a second, and is numbered.
func TestApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 5, set(t, "policies: {api: {key: [user], limits: [{rate: 1/h, burst: 3}]}}"), time.Millisecond)
		begun := time.Now()
		a := apply(t, nodes[2], text(10))
		if took := time.Since(begun); a.Edition.Number != 1 || a.Edition.Node != nodes[2].Name() || a.Winner != nil || a.Kept || took > time.Second {
			t.Errorf("%+v after %v", a, took)
		}
		if len(a.Nodes) != 5 {
			t.Fatalf("%d nodes are told of", len(a.Nodes))
		}
		for _, o := range a.Nodes {
			if !o.Has || o.Error != "" || o.Edition != a.Edition.String() {
				t.Errorf("%+v", o)
			}
		}
		for _, n := range nodes {
			s := n.PolicyStatus()
			if got := limitOf(t, n); got != 10 || s.Source != "applied" || s.Edition != 1 || s.Policies != 1 || s.Overruled != "given " {
				t.Errorf("%s goes by a limit of %d: %+v", n.Name(), got, s)
			}
		}
		if a := apply(t, nodes[0], text(10)); !a.Unchanged || a.Edition.Number != 1 {
			t.Errorf("applied again: %+v", a)
		}
		if a := apply(t, nodes[0], text(20)); a.Edition.Number != 2 {
			t.Errorf("%+v", a)
		}
		_, err := nodes[1].Apply(t.Context(), "bad.yaml", "version: 1\npolicies: {api: {}}\n")
		if !errors.Is(err, policy.ErrInvalidPolicy) || !strings.Contains(err.Error(), "bad.yaml:2:17") {
			t.Errorf("%v, want what is wrong, and where", err)
		}
		back, err := nodes[4].Rollback(t.Context(), 1)
		if err != nil || back.Edition.Number != 3 || back.Edition.Back != 1 {
			t.Errorf("%+v, %v", back, err)
		}
		if _, err := nodes[4].Rollback(t.Context(), 17); !errors.Is(err, ErrNoEdition) {
			t.Errorf("%v, want ErrNoEdition", err)
		}
		for _, n := range nodes {
			if got := limitOf(t, n); got != 10 {
				t.Errorf("%s goes by a limit of %d after going back", n.Name(), got)
			}
			if all := n.Editions(); len(all) != 3 || all[2].Number != 3 || all[0].Text != "" {
				t.Errorf("%s knows %+v", n.Name(), all)
			}
		}
		if e, err := nodes[3].Edition(2); err != nil || e.Text != text(20) {
			t.Errorf("%+v, %v", e, err)
		}
		if _, err := nodes[3].Withdraw(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if got, s := limitOf(t, n), n.PolicyStatus(); got != 3 || s.Source != "given" || s.Edition != 0 {
				t.Errorf("%s goes by a limit of %d: %+v", n.Name(), got, s)
			}
		}
	})
}

// TestAppliedAtOnce: of editions that are applied at the same time at different nodes one wins, at all of them, and each is told so.
func TestAppliedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 4, nil, 3*time.Millisecond)
		results := make(chan Applied, len(nodes))
		for i, n := range nodes {
			go func() {
				a, err := n.Apply(t.Context(), "limits.yaml", text(10+i))
				if err != nil {
					t.Error(err)
				}
				results <- a
			}()
		}
		var all []Applied
		for range nodes {
			all = append(all, <-results)
		}
		time.Sleep(5 * time.Second)
		last, err := nodes[0].Edition(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes[1:] {
			if e, err := n.Edition(0); err != nil || e.Digest != last.Digest || e.Number != last.Number {
				t.Errorf("%s has %v and %s %v, %v", nodes[0].Name(), &last, n.Name(), &e, err)
			}
			if got := limitOf(t, n); got != limitOf(t, nodes[0]) {
				t.Errorf("%s goes by a limit of %d", n.Name(), got)
			}
		}
		for _, a := range all {
			won := a.Edition.Digest == last.Digest
			if won != (a.Winner == nil) || !won && a.Winner.Number < a.Edition.Number {
				t.Errorf("%+v, but %v wins", a, &last)
			}
		}
	})
}

// TestEditionsMeetAfterACut: what is applied on two sides of a cut meets when it has healed, and one of them applies everywhere.
func TestEditionsMeetAfterACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &mem.Network{
			Delay: func(_, _ string) time.Duration { return time.Millisecond },
			After: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		}
		nodes := cluster(t, network, 4, nil)
		apply(t, nodes[0], text(1))
		each := func(do func(a, b string)) {
			for _, a := range nodes[:2] {
				for _, b := range nodes[2:] {
					do(a.Name(), b.Name())
					do(b.Name(), a.Name())
				}
			}
		}
		each(network.Cut)
		a, b := apply(t, nodes[0], text(10)), apply(t, nodes[3], text(20))
		for _, o := range a.Nodes {
			if far := o.Node == nodes[2].Name() || o.Node == nodes[3].Name(); o.Has == far || (o.Error == "") == far {
				t.Errorf("%+v", o)
			}
		}
		apply(t, nodes[3], text(30))
		for i, want := range []int{10, 10, 30, 30} {
			if e, err := nodes[i].Edition(0); err != nil || e.Text != text(want) {
				t.Errorf("%s has %+v, %v, want that of its side", nodes[i].Name(), e, err)
			}
		}
		each(network.Heal)
		healed := time.Now()
		for {
			met := true
			for _, n := range nodes {
				e, err := n.Edition(0)
				met = met && err == nil && e.Number == 3 && e.Text == text(30)
			}
			if met {
				break
			}
			if time.Since(healed) > time.Minute {
				t.Fatalf("a minute after the cut has healed they have not met: %v and %v were applied", &a.Edition, &b.Edition)
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Logf("met %v after the cut has healed", time.Since(healed))
	})
}

// TestEditionsOutliveTheNode: a node begins with the edition that it had.
func TestEditionsOutliveTheNode(t *testing.T) {
	k := new(keeper)
	n := start(t, Config{Store: k})
	apply(t, n, text(7))
	a := apply(t, n, text(8))
	if !a.Kept || len(k.kept) != 2 {
		t.Errorf("%+v, %d kept", a, len(k.kept))
	}
	again := start(t, Config{Store: k})
	if got := limitOf(t, again); got != 8 {
		t.Errorf("a limit of %d after a restart, want 8", got)
	}
	if a := apply(t, again, text(9)); a.Edition.Number != 3 {
		t.Errorf("%+v: the number begins anew", a)
	}
	k.err = errors.New("disk full")
	if a := apply(t, again, text(10)); a.Kept || limitOf(t, again) != 10 {
		t.Errorf("%+v: a full disk must not be in the way", a)
	}
	k.kept[2].Text = "version: 2"
	if _, err := New(Config{Store: k}); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("%v: an edition that was changed on disk", err)
	}
}

// TestOwnSource: a node's own source applies while no edition does, and again when that is withdrawn.
func TestOwnSource(t *testing.T) {
	n := start(t, Config{})
	file := func(burst int, revision uint64) {
		t.Helper()
		s, err := policy.Parse("limits.yaml", []byte(text(burst)))
		if err == nil {
			err = n.SetPolicies(s, Source{Kind: SourceFile, Name: "limits.yaml", Revision: revision})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	wants := func(limit int64, source string, failure string) {
		t.Helper()
		if got, s := limitOf(t, n), n.PolicyStatus(); got != limit || s.Source != source || s.Error != failure {
			t.Errorf("a limit of %d: %+v, want %d by %s, error %q", got, s, limit, source, failure)
		}
	}
	file(5, 1)
	wants(5, "file", "")
	n.PoliciesFailed(errors.New("limits.yaml:3:1: no"))
	wants(5, "file", "limits.yaml:3:1: no")
	file(6, 2)
	wants(6, "file", "")
	apply(t, n, text(50))
	wants(50, "applied", "")
	file(7, 3)
	wants(50, "applied", "")
	if _, err := n.Withdraw(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(7, "file", "")
	if v := (Source{Kind: SourceFile, Revision: 1 << 60}).version(); v >= (Source{Kind: SourceShared}).version() ||
		(Source{Kind: SourceShared, Revision: 1 << 63}).version() >= (Source{Kind: SourceApplied}).version() {
		t.Error("a source goes before a higher one")
	}
}

// used takes all that a key of a policy has, and returns how much that was.
func used(t *testing.T, n *Node, key string) (admitted int) {
	t.Helper()
	for range 100 {
		if check(t, n, policy.Request{Policy: "api", Key: key}).Allowed {
			admitted++
		}
	}
	return admitted
}

// TestOldPoliciesComeBack: keys that are in use go by a node's own policies again when an edition is withdrawn, also after a restart,
// and by a file that is older than the one before it.
func TestOldPoliciesComeBack(t *testing.T) {
	file := func(n *Node, burst int, revision uint64) {
		t.Helper()
		s, err := policy.Parse("limits.yaml", []byte(text(burst)))
		if err == nil {
			err = n.SetPolicies(s, Source{Kind: SourceFile, Name: "limits.yaml", Revision: revision})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	k := new(keeper)
	n := start(t, Config{Store: k})
	file(n, 5, 1000)
	apply(t, n, text(50))
	check(t, n, policy.Request{Policy: "api", Key: "ann"})
	check(t, n, policy.Request{Policy: "api", Key: "bob"})
	if _, err := n.Withdraw(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := used(t, n, "ann"); got > 5 {
		t.Errorf("%d are admitted after the edition was withdrawn, of a limit of 5", got)
	}
	file(n, 20, 2000)
	check(t, n, policy.Request{Policy: "api", Key: "carl"})
	file(n, 5, 1000) // as mv of the file before does
	for _, key := range []string{"bob", "carl"} {
		if got := used(t, n, key); got > 5 {
			t.Errorf("%d of %s are admitted, of a limit of 5 that is in the file again", got, key)
		}
	}
	again := start(t, Config{Store: k})
	file(again, 7, 500)
	if got := used(t, again, "dora"); got != 7 {
		t.Errorf("%d are admitted after a restart, want 7", got)
	}
}
