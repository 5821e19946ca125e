package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/mem"
)

// BenchmarkCheck is a check by handle of a key that this node owns.
func BenchmarkCheck(b *testing.B) {
	set, err := policy.NewSet(policy.Policy{Name: "api", Key: []string{"user"}, Limits: []policy.Limit{{
		Name: "api", Limit: bucket.Limit{Count: 1000, Per: time.Second, Burst: 1 << 50}}}})
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", count), func(b *testing.B) {
			n := start(b, Config{Policies: set})
			h, err := n.Handle("api")
			if err != nil {
				b.Fatal(err)
			}
			keys := make([]string, count)
			for i := range keys {
				keys[i] = fmt.Sprintf("user-%011d", i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i == count {
					i = 0
				}
				if d, err := h.Check(ctx, policy.Request{Key: keys[i]}); err != nil || !d.Allowed {
					b.Fatal(d, err)
				}
			}
		})
	}
}

// BenchmarkLease compares a check of a key that another node has lent tokens of with one of a key that this node owns,
// in rounds that alternate.
func BenchmarkLease(b *testing.B) {
	set, err := policy.NewSet(policy.Policy{Name: "api", Key: []string{"user"}, Limits: []policy.Limit{{
		Name: "api", Limit: bucket.Limit{Count: 1e9, Per: time.Second, Burst: 1 << 50}}}})
	if err != nil {
		b.Fatal(err)
	}
	nodes := cluster(b, new(mem.Network), 2, func(_ int, c *Config) { c.Policies = set })
	h, err := nodes[0].Handle("api")
	if err != nil {
		b.Fatal(err)
	}
	mine, lent := keyOwnedBy(b, nodes[0], "mine"), keyOwnedBy(b, nodes[1], "lent")
	for by := policy.Owner; by != policy.Lease; { // until it is hot
		d, err := h.Check(ctx, policy.Request{Key: lent})
		if err != nil {
			b.Fatal(err)
		}
		by = d.DecidedBy
	}
	const round = 10_000
	var took [2]time.Duration
	away := 0
	b.ReportAllocs()
	for b.Loop() {
		for i, key := range []string{mine, lent} {
			begun := time.Now()
			for range round {
				d, err := h.Check(ctx, policy.Request{Key: key})
				if err != nil || !d.Allowed {
					b.Fatal(d, err)
				}
				if i == 1 && d.DecidedBy != policy.Lease {
					away++
				}
			}
			took[i] += time.Since(begun)
		}
	}
	checks := float64(b.N * round)
	b.ReportMetric(float64(took[0])/checks, "owned-ns/check")
	b.ReportMetric(float64(took[1])/checks, "leased-ns/check")
	b.ReportMetric(float64(took[1])/float64(took[0]), "leased/owned")
	b.ReportMetric(float64(away)/checks, "forwarded/check")
}

// BenchmarkStored compares a check of a key that has limits of its own with one of a key that has not, both owned by the node, in turns.
func BenchmarkStored(b *testing.B) {
	n := start(b, Config{Policies: set(b, "policies: {api: {key: [user], limits: [{rate: 1000000000/s}]}}")})
	h, err := n.Handle("api")
	if err != nil {
		b.Fatal(err)
	}
	store(b, n, "acme", `{"limits":[{"rate":"999999999/s"}]}`)
	var took [2]time.Duration
	reqs := []policy.Request{{Key: "other"}, {Key: "acme"}}
	const rounds = 1000
	for b.Loop() {
		for i := range reqs {
			begun := time.Now()
			for range rounds {
				if _, err := h.Check(b.Context(), reqs[i]); err != nil {
					b.Fatal(err)
				}
			}
			took[i] += time.Since(begun)
		}
	}
	b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N*rounds), "ns/check")
	b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N*rounds), "ns/check-stored")
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
}

// BenchmarkStrictDenied compares a check that a remembered denial of Redis decides, and one by what was fetched from Redis, with one by tokens
// that another node has lent, in turns.
func BenchmarkStrictDenied(b *testing.B) {
	all := set(b, `policies:
  api: {key: [user], limits: [{rate: 1000000000/s}]}
  cap: {key: [user], consistency: strict, limits: [{rate: 1/365d}]}
  pre: {key: [user], consistency: strict, strict: {prefetch: 1_000_000_000}, limits: [{rate: 1_000_000_000_000/d}]}
`)
	memory := NewMemoryStore(nil)
	nodes := cluster(b, new(mem.Network), 2, func(_ int, c *Config) { c.Policies, c.Strict = all, memory })
	lent := keyOwnedBy(b, nodes[1], "lent")
	handle := func(name string) *Handle {
		h, err := nodes[0].Handle(name)
		if err != nil {
			b.Fatal(err)
		}
		return h
	}
	ways := []struct {
		name string
		h    *Handle
		by   policy.DecidedBy
	}{{"lease", handle("api"), policy.Lease}, {"denied", handle("cap"), policy.Redis}, {"fetched", handle("pre"), policy.Redis}}
	for _, w := range ways {
		for by := policy.Unknown; by != w.by; { // until it is hot
			d, err := w.h.Check(ctx, policy.Request{Key: lent})
			if err != nil {
				b.Fatal(err)
			}
			by = d.DecidedBy
		}
	}
	const round = 10_000
	took := make([]time.Duration, len(ways))
	b.ReportAllocs()
	for b.Loop() {
		for i, w := range ways {
			begun := time.Now()
			for range round {
				if _, err := w.h.Check(ctx, policy.Request{Key: lent}); err != nil {
					b.Fatal(err)
				}
			}
			took[i] += time.Since(begun)
		}
	}
	for i, w := range ways {
		b.ReportMetric(float64(took[i].Nanoseconds())/float64(b.N*round), "ns/"+w.name)
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "denied/lease")
	b.ReportMetric(0, "ns/op")
}
