package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
)

// leasedCluster has the policies "hot", of which much is lent, and "few", of which there is soon nothing.
func leasedCluster(t *testing.T) []*Node {
	t.Helper()
	set, err := policy.Parse("test.yaml", []byte(`
version: 1
policies:
  hot: {key: [user], limits: [{rate: 100k/s}, {rate: 1M/min}]}
  few: {key: [user, path], limits: [{rate: 3/h}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return cluster(t, new(mem.Network), 3, func(_ int, c *Config) { c.Policies = set })
}

// group returns the group of a key, or nil.
func (s *LeasesStatus) group(key string) *LeasedGroup {
	for i := range s.Groups {
		if s.Groups[i].Key == key {
			return &s.Groups[i]
		}
	}
	return nil
}

// TestLeases has all nodes ask for one key, and any of them tells who holds what.
func TestLeases(t *testing.T) {
	nodes := leasedCluster(t)
	req := policy.Request{Policy: "hot", Key: "ann"}
	look := req
	look.CheckOnly = true
	owner := check(t, nodes[0], look).Node
	for i, asked := range nodes {
		var s LeasesStatus
		waitFor(t, "both others to hold a lease", func() bool {
			for range 200 {
				for _, n := range nodes {
					check(t, n, req)
				}
			}
			s = asked.Leases(ctx)
			g := s.group("ann")
			if g == nil {
				return false
			}
			leased := 0
			for _, h := range g.Holders {
				if h.Left != nil && h.Lent > 0 && h.ChecksPerSecond > 0 {
					leased++
				}
			}
			return leased == 2
		})
		g := s.group("ann")
		lent := int64(0)
		for _, h := range g.Holders {
			lent += h.Lent
			if h.Node == "" || h.Node == owner && h.Left != nil || h.DenySecs != 0 {
				t.Errorf("holder %+v", h)
			}
		}
		if g.Policy != "hot" || g.Owner != owner || len(g.ID) != 32 || g.Burst != 100_000 || g.Lendable != 25_000 ||
			lent != g.Out || g.Out > g.Lendable || g.Renewals < 2 {
			t.Errorf("asked of node %d: %+v, owned by %s", i, g, owner)
		}
		if s.Node != asked.Name() || len(s.Members) != 3 || s.More != 0 {
			t.Errorf("asked of node %d: %+v", i, s)
		}
		for _, m := range s.Members {
			if m.Error != "" || (m.ID == owner) != (m.Hot == 1) || (m.ID == owner) != (m.Purses == 0) {
				t.Errorf("member %+v, and the owner is %s", m, owner)
			}
		}
	}
}

// TestLeasesOfDenials: nobody lends a key of which there is nothing, and a deny lease of it is shown all the same.
func TestLeasesOfDenials(t *testing.T) {
	nodes := leasedCluster(t)
	req := policy.Request{Policy: "few", Parts: []string{"ann", "/a|b"}}
	look := req
	look.CheckOnly = true
	owner := check(t, nodes[0], look).Node
	asked := nodes[0]
	if owner == asked.Name() {
		asked = nodes[1]
	}
	var g *LeasedGroup
	waitFor(t, "a deny lease", func() bool {
		for range 100 {
			check(t, asked, req)
		}
		s := nodes[2].Leases(ctx)
		g = s.group(`ann|"/a|b"`)
		return g != nil
	})
	if g.Policy != "few" || g.Owner != owner || g.Out != 0 || len(g.Holders) != 1 {
		t.Fatalf("%+v", g)
	}
	if h := g.Holders[0]; h.Node != asked.Name() || h.DenySecs <= 0 || h.DenySecs > 1 || h.Left != nil || h.Lent != 0 {
		t.Errorf("holder %+v", h)
	}
}

// TestLeasesUnanswered asks a cluster of which one member is gone, and one that does not know the question.
func TestLeasesUnanswered(t *testing.T) {
	nodes := leasedCluster(t)
	if err := nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	s := nodes[0].Leases(ctx)
	for i, m := range s.Members {
		if (m.Error != "") != (i == 2) {
			t.Errorf("%+v", m)
		}
	}
	r := nodes[0].answerCall(transport.Hello{}, transport.Call{Method: transport.AskLeases + 100})
	if r.err == nil || !strings.Contains(r.err.Error(), "older version") {
		t.Errorf("an unknown call is answered %+v", r)
	}
	n, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if s := n.Leases(ctx); len(s.Members) != 0 {
		t.Errorf("before Start: %+v", s)
	}
}

func TestMergeLeases(t *testing.T) {
	old := errors.New("this node does not know call 2; it may be of an older version")
	owner := func(uptime time.Duration, renewals int64) leaseAnswer {
		return leaseAnswer{member: "n1", report: leaseReport{Uptime: uptime, Hot: 5, Lent: []lentGroup{
			{ID: "a", Burst: 100, Lendable: 25, Out: 20, Renewals: renewals,
				Holdings: []holding{{"", 5, 1, 2}, {"n2", 15, 3, 4}}},
			{ID: "b", Burst: 80, Lendable: 20, Out: 21, Renewals: 100 - renewals},
		}}}
	}
	holder := leaseAnswer{member: "n2", report: leaseReport{Purses: 3, Held: []heldGroup{
		{ID: "a", Policy: "p", Key: "k", Owner: "n1", Leased: true, Left: 7},
		{ID: "b", Policy: "p", Key: "l", Owner: "n1"}, // it knows the name, and has nothing
		{ID: "a", Policy: "p", Key: "k", Owner: "n3", DenyFor: time.Second / 2},
	}}}
	s := mergeLeases("n2", []leaseAnswer{owner(time.Second, 10), holder},
		[]leaseAnswer{owner(3*time.Second, 40), holder, {member: "n3", err: old}})
	left := int64(7)
	want := LeasesStatus{
		Node:    "n2",
		Members: []MemberLeases{{ID: "n1", Hot: 5}, {ID: "n2", Purses: 3}, {ID: "n3", Error: old.Error()}},
		Groups: []LeasedGroup{
			{ID: "b", Policy: "p", Key: "l", Owner: "n1", Burst: 80, Lendable: 20, Out: 21, Renewals: 60,
				Holders: []LeaseHolder{}},
			{ID: "a", Policy: "p", Key: "k", Owner: "n1", Burst: 100, Lendable: 25, Out: 20, Renewals: 40, RenewalRate: 15,
				Holders: []LeaseHolder{
					{Node: "n2", Lent: 15, ChecksPerSecond: 3, TokensPerSecond: 4, Left: &left},
					{Node: "n1", Lent: 5, ChecksPerSecond: 1, TokensPerSecond: 2},
				}},
			{ID: "a", Policy: "p", Key: "k", Owner: "n3", Holders: []LeaseHolder{{Node: "n2", DenySecs: 0.5}}},
		},
		More: 3,
	}
	if got, want := asText(t, s), asText(t, want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestLeasesAreBounded merges more than is shown, and clips long keys.
func TestLeasesAreBounded(t *testing.T) {
	var answers []leaseAnswer
	for m := range 3 {
		a := leaseAnswer{member: fmt.Sprint("n", m)}
		for i := range MaxLeasedGroups {
			a.report.Lent = append(a.report.Lent, lentGroup{ID: fmt.Sprint(m, "-", i), Out: int64(i)})
		}
		a.report.Hot = MaxLeasedGroups + 7
		answers = append(answers, a)
	}
	s := mergeLeases("n0", nil, answers)
	if len(s.Groups) != MaxLeasedGroups || s.More != 2*MaxLeasedGroups+21 || s.Groups[0].Out != MaxLeasedGroups-1 ||
		s.Groups[MaxLeasedGroups-1].Out < MaxLeasedGroups*2/3-1 {
		t.Errorf("%d groups and %d more, from %+v to %+v", len(s.Groups), s.More, s.Groups[0], s.Groups[len(s.Groups)-1])
	}
	for _, key := range []string{strings.Repeat("k", maxKeyShown), strings.Repeat("k", 4096), strings.Repeat("ü", 2000),
		strings.Repeat("k", maxKeyShown-1) + "日本"} {
		shown := clip(key)
		if len(key) > maxKeyShown && !strings.HasSuffix(shown, "…") || len(shown) > maxKeyShown+len("…") ||
			!utf8.ValidString(shown) || !strings.HasPrefix(key, strings.TrimSuffix(shown, "…")) || len(key) <= maxKeyShown && shown != key {
			t.Errorf("%.20q… is shown as %q", key, shown)
		}
	}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	r, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(r)
}
