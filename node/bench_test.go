package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
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
