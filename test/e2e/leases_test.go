package e2e

import (
	"encoding/json"
	"testing"
)

// leased is what drossel leases --json shows.
type leased struct {
	Node    string
	More    int
	Members []struct {
		ID, Error string
		Hot       int
	}
	Groups []struct {
		ID, Policy, Key, Owner string
		Burst, Lendable, Out   int64
		RenewalsPerSecond      float64 `json:"renewals_per_second"`
		Holders                []struct {
			Node string
			Lent int64
			Left *int64
		}
	}
}

// leases asks a daemon with drossel leases.
func (d *daemon) leases(t *testing.T, args ...string) (l leased) {
	t.Helper()
	r := run(t, append([]string{"leases", "--addr", d.http, "--json"}, args...)...)
	if err := json.Unmarshal([]byte(r.stdout), &l); err != nil || r.code != 0 {
		t.Fatalf("drossel leases: code %d, %v: %s%s", r.code, err, r.stdout, r.stderr)
	}
	return l
}

// TestLeases hammers one key at three daemons, and each of them tells who holds how much of it.
func TestLeases(t *testing.T) {
	limits := file(t, "limits.yaml", "{version: 1, policies: {api: {key: [user], limits: [{rate: 100k/s}]}}}")
	nodes := cluster(t, 3, append(patient, "--policy", limits)...)
	run(t, "leases", "--addr", nodes[0].http).wants(t, 0, "nothing is lent, as n1 sees it")
	client := newWeb(t)
	owner := client.check(t, nodes[0], look("hot")).Node
	l := startLoad(t, 12, []string{"hot"}, nodes...)
	for _, d := range nodes {
		var last leased
		waitFor(t, "both nodes but the owner to hold a lease", func() bool {
			last = d.leases(t)
			if len(last.Groups) != 1 {
				return false
			}
			holding := 0
			for _, h := range last.Groups[0].Holders {
				if h.Node != owner && h.Lent > 0 && h.Left != nil {
					holding++
				}
			}
			return holding == 2 && last.Groups[0].RenewalsPerSecond > 0
		})
		g := last.Groups[0]
		lent := int64(0)
		for _, h := range g.Holders {
			lent += h.Lent
		}
		if g.Policy != "api" || g.Key != "hot" || g.Owner != owner || len(g.ID) != 32 || g.Burst != 100_000 ||
			g.Lendable != 25_000 || g.Out > g.Lendable || lent != g.Out {
			t.Errorf("%s says %+v, and %s owns it", d.name, g, owner)
		}
		if last.Node != d.name || last.More != 0 || len(last.Members) != 3 {
			t.Errorf("%+v", last)
		}
	}
	run(t, "leases", "--addr", nodes[1].http).wants(t, 0, "LENDABLE", "hot", owner, "25000")
	t.Run("metrics", func(t *testing.T) { leaseMetrics(t, client, nodes, owner) })
	run(t, "leases", "--addr", nodes[1].http, "--top", "0").wants(t, 1, "--top is 0, want 1 or more")
	for _, s := range l.stop() {
		if s.err != nil || !s.allowed {
			t.Fatalf("a check far below the limit: %+v", s)
		}
	}
	gone := nodes[2]
	gone.kill(t)
	run(t, "leases", "--addr", gone.http).wants(t, 2, "no node answers")
}

// leaseMetrics checks what is counted while the key is hammered.
func leaseMetrics(t *testing.T, client *web, nodes []*daemon, owner string) {
	const lease = `drossel_checks_decided_total{policy="api",where="lease"}`
	for _, d := range nodes {
		m := client.metrics(t, d)
		own := d.name == owner
		sum, hot := 0.0, 0.0
		if own {
			hot = 1
		}
		for _, where := range []string{"own", "lease", "deny_lease", "sample", "forwarded", "rule"} {
			v, there := m[`drossel_checks_decided_total{policy="api",where="`+where+`"}`]
			if !there {
				t.Errorf("%s: nothing is counted as %s", d.name, where)
			}
			sum += v
		}
		// The load goes on: what is counted by verdict is counted in the same scrape.
		all := m[`drossel_checks_total{policy="api",verdict="allowed"}`] +
			m[`drossel_checks_total{policy="api",verdict="denied"}`]
		if sum != all || (m[lease] > 0) == own || m["drossel_lease_groups_hot"] != hot {
			t.Errorf("%s (owner %s): %v checks, %v by where, %v by lease, %v groups hot", d.name, owner, all, sum, m[lease],
				m["drossel_lease_groups_hot"])
		}
		sent, received := m["drossel_lease_requests_sent_total"], m["drossel_lease_requests_received_total"]
		if own && received == 0 || !own && (sent == 0 || m["drossel_lease_purses"] != 1) {
			t.Errorf("%s (owner %s): %v requests sent, %v received", d.name, owner, sent, received)
		}
	}
}
