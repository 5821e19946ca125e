package replay_test

import (
	"context"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/replay"
	"github.com/drossel-dev/drossel/cmd/internal/weblog"
)

// tiered gives each address a tier, as a gateway would that knows its customers.
type tiered struct{ lim replay.Limiter }

func tierOf(ip string) string {
	switch ip[len(ip)-1] {
	case '0', '1', '2':
		return "free"
	case '9':
		return "staff"
	}
	return ""
}

func (l tiered) Check(ctx context.Context, at time.Time, req policy.Request) (policy.Decision, error) {
	req.Attributes["tier"] = tierOf(req.Attributes["ip"])
	return l.lim.Check(ctx, at, req)
}

// ratBucket is a token bucket by its definition, in fractions.
type ratBucket struct {
	level, burst, perNano *big.Rat
	last                  time.Time
}

func (b *ratBucket) fill(at time.Time) {
	b.level.Add(b.level, new(big.Rat).Mul(b.perNano, big.NewRat(int64(at.Sub(b.last)), 1)))
	if b.last = at; b.level.Cmp(b.burst) > 0 {
		b.level.Set(b.burst)
	}
}

// TestAccessLogThroughPolicies plays a real log through policies with conditions, exemptions, tiers, an override and a limit for images
// that is in shadow mode, and counts what the same words mean by fractions.
func TestAccessLogThroughPolicies(t *testing.T) {
	if _, err := os.Stat(access); err != nil {
		t.Skip("no real log here")
	}
	web, err := weblog.ReadFile(access, nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Parse("limits.yaml", []byte(`
version: 1
attributes: {ip: {ipv4: 32, ipv6: 64}}
exempt: [{route: [/favicon.ico, /robots.txt]}, {ip: [198.18.6.0/24]}]
policies:
  pages:
    when: {not: {route: "/images/*"}}
    key: [ip]
    limits: [{rate: 100/h, burst: 20}]
    tiers: {free: {limits: [{rate: 30/h, burst: 10}]}, staff: {unlimited: true}}
    overrides: {198.18.4.163: {limits: [{rate: 200/h, burst: 100}]}}
  images: {when: {route: "/images/*"}, key: [ip], limits: [{rate: 10/min, burst: 5}]}
  all: {key: [ip], shadow: true, limits: [{rate: 1/min}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]*ratBucket{}
	admitted, denied, exempt, keys := int64(0), int64(0), 0, map[string]bool{}
	for _, e := range web.Entries {
		a := e.Attributes()
		ip, route := a["ip"], a["route"]
		images := strings.HasPrefix(route, "/images/")
		count, per, burst := int64(100), time.Hour, int64(20)
		switch {
		case route == "/favicon.ico" || route == "/robots.txt" || strings.HasPrefix(ip, "198.18.6."):
			exempt++
			admitted++
			continue
		case images:
			count, per, burst = 10, time.Minute, 5
		case ip == "198.18.4.163":
			count, burst = 200, 100
		case tierOf(ip) == "staff":
			admitted++
			continue
		case tierOf(ip) == "free":
			count, burst = 30, 10
		}
		key := ip
		if images {
			key = "images of " + ip
		}
		b := held[key]
		if b == nil {
			b = &ratBucket{big.NewRat(burst, 1), big.NewRat(burst, 1), big.NewRat(count, int64(per)), e.At}
			held[key] = b
		}
		if b.fill(e.At); b.level.Cmp(big.NewRat(1, 1)) < 0 {
			denied++
			keys[ip] = true
			continue
		}
		b.level.Sub(b.level, big.NewRat(1, 1))
		admitted++
	}
	if denied < 100 || exempt < 100 {
		t.Fatalf("%d denied and %d exempt: the log tells nothing of these policies", denied, exempt)
	}
	for _, nodes := range []int{1, 3} {
		cluster, err := replay.NewCluster(t.Context(), nodes, set)
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		r, err := replay.Run(t.Context(), web, tiered{cluster}, replay.Options{Key: []string{"ip"}, Nodes: nodes})
		if err != nil {
			t.Fatal(err)
		}
		if r.Admitted != admitted || r.Denied != denied || r.DeniedKeys != int64(len(keys)) {
			t.Errorf("%d nodes: %d admitted, %d denied, %d addresses denied; want %d, %d, %d", nodes, r.Admitted, r.Denied, r.DeniedKeys,
				admitted, denied, len(keys))
		}
	}
	t.Logf("%d requests: %d exempt, %d admitted, %d denied, %d addresses denied", len(web.Entries), exempt, admitted, denied, len(keys))
}
