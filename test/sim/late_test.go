package sim

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLateSpending keeps a holder from its owner until its lease is burned and the bucket full again, empties that, and
// has the holder asked for much at once. One that was stopped spends what was left, which is too much, but no more than
// the oracle allows for it: the fault is a real one, and would be found without the allowance. One that was only cut
// off knows that its lease has ended, however late it heard of it.
func TestLateSpending(t *testing.T) {
	const stops, again = 3 * time.Second, 6 * time.Second
	for _, c := range []struct {
		name  string
		fault func(h *hot, holder, owner string)
		over  bool
	}{
		{"stopped", func(h *hot, holder, _ string) {
			h.sleep(stops)
			h.pause(holder, again-stops)
		}, true},
		{"cut off", func(h *hot, holder, owner string) {
			h.sleep(stops)
			h.cut(way{holder, owner})
			h.cut(way{owner, holder})
			h.sleep(again + time.Second - stops)
			h.heal(way{holder, owner})
			h.heal(way{owner, holder})
		}, false},
		{"cut off, and granted late", func(h *hot, holder, owner string) {
			h.sleep(stops - 300*ms)
			h.cut(way{owner, holder}) // requests arrive, and grants do not
			h.sleep(300 * ms)
			h.cut(way{holder, owner})
			h.sleep(1600 * ms)
			h.heal(way{owner, holder})
			h.sleep(10 * ms)
			h.cut(way{owner, holder})
			h.sleep(again + time.Second - stops)
			h.heal(way{holder, owner})
			h.heal(way{owner, holder})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHot(t, 2, 2*ms)
				holder, other := h.holders[0], h.holders[1]
				st := h.load(8*time.Second, []source{{
					node: holder, random: draw(21, "holder"), peak: 3 * rate, pick: always(h.key),
					rate: func(at time.Duration) float64 {
						switch {
						case at < stops:
							return 0.6 * rate
						case at < again:
							return 0
						}
						return 3 * rate
					},
				}}, func() { c.fault(h, name(holder), name(h.key.owner)) }, func() {
					h.sleep(again - 10*ms)
					if d := h.check(other, h.key, rate); !d.Allowed || d.Degraded {
						t.Errorf("the bucket is not full after a rest: %+v", d)
					}
				})
				for _, w := range h.drained([]*group{h.key}) {
					t.Error(w)
				}
				v := h.oracle.verdict()
				t.Logf("%v; %+v", &st.all, v)
				if (v.over > 0) != c.over || v.over > v.forgiven || len(v.excess) > 0 {
					t.Errorf("%+v, want over-admission: %v, and no more than is forgiven", v, c.over)
				}
			})
		})
	}
}
