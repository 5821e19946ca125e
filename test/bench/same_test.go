package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// sameConfig is a file of envoyproxy/ratelimit that both services go by.
const sameConfig = `
domain: shop
descriptors:
  - key: tier
    value: free
    rate_limit: {unit: day, requests_per_unit: 7, name: everybody}
  - key: tier
    value: gold
    descriptors:
      - key: user
        rate_limit: {unit: month, requests_per_unit: 20}
      - key: user
        value: root
        rate_limit: {unlimited: true}
  - key: tier
    rate_limit: {unit: hour, requests_per_unit: 3}
  - key: path
    value: /api/*
    rate_limit: {unit: day, requests_per_unit: 11}
  - key: path
    value: /api/v2/*
    rate_limit: {unit: day, requests_per_unit: 2}
  - key: path
    value: /api/v1/login
    rate_limit: {unit: year, requests_per_unit: 4}
  - key: vip
    rate_limit: {unit: day, requests_per_unit: 30, replaces: [{name: everybody}, {name: nobody}]}
  - key: closed
    rate_limit: {unit: day, requests_per_unit: 0}
  - key: tried
    shadow_mode: true
    rate_limit: {unit: day, requests_per_unit: 2}
`

// entries are descriptors of which the two services are asked.
var entries = [][]string{
	{"tier", "free"}, {"tier", "gold"}, {"tier", "silver"}, {"tier", "iron"},
	{"tier", "gold", "user", "ann"}, {"tier", "gold", "user", "bob"}, {"tier", "gold", "user", "root"}, {"tier", "free", "user", "ann"},
	{"path", "/api/v1/login"}, {"path", "/api/v1/x"}, {"path", "/api/v2/y"}, {"path", "/api/"}, {"path", "/other"},
	{"closed", "x"}, {"tried", "y"}, {"vip", "a"}, {"vip", "b"}, {"user", "ann"}, {"tier", "silver", "path", "/api/"},
}

func descriptorOf(pairs []string) *common.RateLimitDescriptor {
	d := new(common.RateLimitDescriptor)
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return d
}

// TestSameAsRatelimit asks envoyproxy/ratelimit with its Redis and a cluster of Drossel the same, by the same file: codes, limits, what
// remains and resets are the same. Some differences are wanted, and not asked for: a denied request charges nothing here, neither the
// descriptor that denied nor the others. And a limit of 0 has no reset here, for waiting helps nobody.
func TestSameAsRatelimit(t *testing.T) {
	wantOthers(t)
	imported := importEnvoy(t, sameConfig)
	theirs, ours := startRatelimit(t, 1, sameConfig), startDrossel(t, nodes, imported)
	oracle := rls.NewRateLimitServiceClient(theirs.conns[0])
	waitFor(t, "an hour that does not end soon, for both count anew then", func() bool {
		return time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)) > patience/2
	})
	t.Logf("%d requests were answered the same", compareServices(t, oracle, ours, rand.New(rand.NewPCG(7, 1)), 400))
}

func compareServices(t *testing.T, oracle rls.RateLimitServiceClient, ours *cluster, r *rand.Rand, requests int) (asked int) {
	t.Helper()
	left := map[string]uint32{} // of a descriptor, as the oracle said
	for range requests {
		in := &rls.RateLimitRequest{Domain: "shop"}
		n := 1 + r.IntN(2)
		var names []string
		for range n {
			pairs := entries[r.IntN(len(entries))]
			names = append(names, fmt.Sprint(pairs))
			in.Descriptors = append(in.Descriptors, descriptorOf(pairs))
		}
		if n == 2 && (names[0] == names[1] || scarce(left, names[0]) || scarce(left, names[1])) {
			continue
		}
		if most, known := left[names[0]]; n == 1 && known && most > 1 {
			in.HitsAddend = uint32(r.IntN(int(min(most, 3)) + 1))
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		want, err := oracle.ShouldRateLimit(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rls.NewRateLimitServiceClient(ours.conns[r.IntN(nodes)]).ShouldRateLimit(ctx, in)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		asked++
		if got.OverallCode != want.OverallCode || len(got.Statuses) != len(want.Statuses) {
			t.Fatalf("request %d, %v:\n%v\nwant\n%v", asked, in, got, want)
		}
		for i, w := range want.Statuses {
			if w.CurrentLimit != nil {
				left[names[i]] = w.LimitRemaining
			}
			if wrong := differs(got.Statuses[i], w); wrong != "" {
				t.Fatalf("request %d, %v: %s:\n%v\nwant\n%v", asked, in, wrong, got.Statuses[i], w)
			}
		}
	}
	return asked
}

// scarce says whether one more may be denied, as far as is known.
func scarce(left map[string]uint32, name string) bool {
	n, known := left[name]
	return !known || n < 2
}

// differs says in what two statuses differ, or nothing.
func differs(got, want *rls.RateLimitResponse_DescriptorStatus) string {
	switch {
	case got.Code != want.Code:
		return "the code"
	case got.LimitRemaining != want.LimitRemaining:
		return "what remains"
	case (got.CurrentLimit == nil) != (want.CurrentLimit == nil):
		return "whether there is a limit"
	case want.CurrentLimit == nil:
		return ""
	case got.CurrentLimit.RequestsPerUnit != want.CurrentLimit.RequestsPerUnit || got.CurrentLimit.Unit != want.CurrentLimit.Unit:
		return "the limit"
	}
	if want.CurrentLimit.RequestsPerUnit == 0 { // which nothing resets, and ours says so
		return ""
	}
	if d := got.DurationUntilReset.GetSeconds() - want.DurationUntilReset.GetSeconds(); d < -1 || d > 1 {
		return "the reset"
	}
	return ""
}

// importEnvoy returns the policies that drossel policy import makes of a file.
func importEnvoy(t *testing.T, config string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(build(t, "../..", "./cmd/drossel"), "policy", "import", "envoy", name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("drossel policy import envoy: %v", err)
	}
	return string(out)
}
