package replay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/replay"
)

// TestClusterIsOneBucket asks clusters of several sizes, so often that a key would be leased and its checks sampled if
// they could be: every answer is that of one bucket.
func TestClusterIsOneBucket(t *testing.T) {
	limit := bucket.Limit{Count: 200, Per: time.Second, Burst: 400}
	policies, err := policy.NewSet(
		policy.Policy{Name: "leased", Key: []string{"ip"}, Limits: []policy.Limit{{Limit: limit}}},
		policy.Policy{Name: "sampled", Key: []string{"ip"}, Limits: []policy.Limit{{Limit: limit}}, Sample: 10},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, nodes := range []int{1, 2, 5} {
		cluster, err := replay.NewCluster(t.Context(), nodes, policies)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range policies.Names() {
			want := newBuckets(limit, "ip")
			at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
			for i := range 6000 {
				at = at.Add(time.Millisecond)
				req := policy.Request{Policy: name, Attributes: map[string]string{"ip": fmt.Sprint("192.0.2.", i%2)}}
				w, _ := want.Check(t.Context(), at, req)
				d, err := cluster.Check(t.Context(), at, req)
				if err != nil {
					t.Fatal(err)
				}
				if d.Allowed != w.Allowed || d.Remaining != w.Remaining || d.DecidedBy != policy.Owner {
					t.Fatalf("%d nodes, policy %s, check %d: %+v, want as one bucket %+v", nodes, name, i, d, w)
				}
			}
		}
		cluster.Close()
	}
	if p, err := policies.Policy("sampled"); err != nil || p.Sample != 10 || p.Limits[0].Consistency != policy.Leased {
		t.Errorf("the policies have been changed: %+v, %v", p, err)
	}
}

// TestClusterKnowsAddresses: clients of one network that the policies take for one share a bucket, and who is exempt is.
func TestClusterKnowsAddresses(t *testing.T) {
	policies, err := policy.Parse("limits.yaml", []byte(`version: 1
attributes: {ip: {ipv6: 64}}
exempt: [{ip: 10.0.0.0/8}]
policies: {web: {key: [ip], limits: [{rate: 1/h}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := replay.NewCluster(t.Context(), 2, policies)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	for i, c := range []struct {
		ip      string
		allowed bool
	}{{"2001:db8::1", true}, {"2001:db8::2", false}, {"2001:db8:0:1::2", true}, {"10.0.0.1", true}, {"10.0.0.1", true}} {
		req := policy.Request{Policy: "web", Attributes: map[string]string{"ip": c.ip}}
		if d, err := cluster.Check(t.Context(), time.Unix(int64(i), 0), req); err != nil || d.Allowed != c.allowed {
			t.Errorf("%s: %+v, %v, want %v", c.ip, d, err, c.allowed)
		}
	}
}
