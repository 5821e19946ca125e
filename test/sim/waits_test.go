package sim

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket/lease"
)

// TestNewcomer has a node ask for a key that nine others hold leases on and want three times the rate of: it gets its
// first token at once.
func TestNewcomer(t *testing.T) {
	for _, roundTrip := range []time.Duration{2 * ms, 20 * ms} {
		t.Run(fmt.Sprint("RTT ", roundTrip), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHot(t, holders, roundTrip)
				newcomer := h.holders[holders-1]
				var took time.Duration
				st := h.load(8*time.Second, h.even(3*rate, h.holders[:holders-1]), func() {
					h.sleep(5 * time.Second)
					begun := time.Now()
					for !h.check(newcomer, h.key, 1).Allowed {
						h.sleep(ms)
					}
					took = time.Since(begun)
				})
				t.Logf("first token after %v", took)
				if limit := roundTrip + 10*ms; took > limit {
					t.Errorf("the first token came after %v, want %v at the most", took, limit)
				}
				h.sound(st)
			})
		})
	}
}

// TestDearRequest has one caller want nine tenths of the burst every 5 s, beside others who leave it enough. Who waits
// as long as it is told, 2 s at the most, passes within the life of a lease and one such wait.
func TestDearRequest(t *testing.T) {
	figures(t)
	const cost = rate * 9 / 10
	for _, load := range []float64{0.3, 0.5, 0.8} {
		t.Run(fmt.Sprintf("%.1fx", load), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHot(t, holders, 2*ms)
				h.dearest = cost
				var waits []time.Duration
				st := h.load(42*time.Second, h.even(load*rate, h.holders), func() {
					for range 8 {
						h.sleep(5 * time.Second)
						begun, retry := time.Now(), time.Duration(0)
						for d := h.check(h.holders[0], h.key, cost); !d.Allowed; d = h.check(h.holders[0], h.key, cost) {
							retry = min(d.RetryAfter, lease.TTL)
							if waited := time.Since(begun); waited > 2*lease.TTL {
								t.Errorf("not passed after %v, and told to wait %v", waited, d.RetryAfter)
								break
							}
							h.sleep(max(retry, ms))
						}
						if waited := time.Since(begun); waited > lease.TTL+retry {
							t.Errorf("passed after %v, want %v and %v at the most", waited, lease.TTL, retry)
						} else {
							waits = append(waits, waited)
						}
					}
				})
				slices.Sort(waits)
				t.Logf("waits %v", waits)
				h.sound(st)
			})
		})
	}
}
