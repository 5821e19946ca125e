package sim

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPausedHolder stops a holder until its lease is burned and the bucket full again, and empties that just before the
// holder goes on. What the holder spends then is too much, but no more than the oracle allows for it: so the fault is a
// real one here, and without the allowance it would be found.
func TestPausedHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stops, lasts = 3 * time.Second, 3 * time.Second
		h := newHot(t, 2, 2*ms)
		holder, other := h.holders[0], h.holders[1]
		h.load(8*time.Second, []source{{ // it has much left when it stops, and wants more afterwards
			node: holder, random: draw(21, "holder"), peak: 3 * rate, pick: always(h.key),
			rate: func(at time.Duration) float64 {
				if at < stops {
					return 0.6 * rate
				}
				return 3 * rate
			},
		}}, func() {
			h.sleep(stops)
			h.pause(name(holder), lasts)
		}, func() {
			h.sleep(stops + lasts - 10*ms)
			if d := h.check(other, h.key, rate); !d.Allowed || d.Degraded {
				t.Errorf("the bucket is not full after %v without a check: %+v", lasts, d)
			}
		})
		for _, w := range h.drained([]*group{h.key}) {
			t.Error(w)
		}
		v := h.oracle.verdict()
		t.Logf("%+v", v)
		if v.over == 0 || v.over > v.forgiven || len(v.excess) > 0 {
			t.Errorf("%+v, want some over-admission, and no more than what the holder spent too late", v)
		}
	})
}
