package ownership

import (
	"fmt"
	"strings"
	"time"
)

// oracle sees every admission in true order, in one bucket per partition that may run negative: its lowest point is what
// was admitted too much in any span of time. Each fault raises what is allowed by its row of the promises.
type oracle struct {
	w       *world
	level   []float64
	at      []time.Duration
	excess  []float64
	allowed []float64
	ruled   []float64 // by failure rules
	last    []*lastOwner
	gapFrom []time.Duration
	gaps    []time.Duration
	two     int // moments with two owners, in milliseconds
	wasTwo  []bool
	apart   bool // there may be clusters that do not know of each other
	blank   int  // take-overs without a copy
	founded int  // partitions
}

type lastOwner struct {
	h *host
	l *ledger
}

// fast is how much faster than true time a clock may run at most.
const fast = 1.0101

func newOracle(w *world) *oracle {
	n := w.cfg.partitions
	o := &oracle{
		w: w, level: make([]float64, n), at: make([]time.Duration, n), excess: make([]float64, n),
		allowed: make([]float64, n), ruled: make([]float64, n), last: make([]*lastOwner, n),
		gapFrom: make([]time.Duration, n), wasTwo: make([]bool, n),
	}
	for part := range n {
		o.level[part], o.gapFrom[part] = w.cfg.capacity, -1
	}
	return o
}

func (o *oracle) admit(part int) {
	o.level[part] = min(o.w.cfg.capacity, o.level[part]+o.w.cfg.rate*fast*(o.w.now-o.at[part]).Seconds())
	o.at[part] = o.w.now
	o.level[part]--
	if -o.level[part] > o.excess[part] {
		o.excess[part] = -o.level[part]
		if o.excess[part] > o.allowed[part]+o.ruled[part]+1 {
			o.w.log("EXCESS of %d is %.0f, allowed %.0f", part, o.excess[part], o.allowed[part]+o.ruled[part])
		}
	}
}

// over is by how much the worst partition has exceeded what faults allow.
func (o *oracle) over() (worst float64) {
	for part := range o.excess {
		worst = max(worst, o.excess[part]-o.allowed[part]-o.ruled[part])
	}
	return worst
}

func (o *oracle) most() (most float64) {
	for _, e := range o.excess {
		most = max(most, e)
	}
	return most
}

// minted allows what the last owner had debited since its last snapshot that is of use: all of it if there is none.
func (o *oracle) minted(h *host, a *Mint) {
	o.w.log("%s mints %d as %v from %v, level %.0f", h.id, a.Partition, a.Claim, a.From, h.held[a.Partition].level)
	last := o.last[a.Partition]
	if a.Founding {
		o.founded++
	}
	if last == nil {
		return
	}
	l := last.l
	extra := l.spent - l.acked
	switch {
	case a.From == Nothing:
		o.blank++
		extra = o.w.cfg.capacity
	case l.ackedAt == "":
		extra = l.spent
	case !o.reaches(h, l, a.Partition):
		extra = o.w.cfg.capacity
	}
	o.allowed[a.Partition] += min(extra, o.w.cfg.capacity)
}

// findable is how long the copy must have been within reach: an heir asks every 10 ms, and messages may be lost.
const findable = 35 * time.Millisecond

// reaches says that an heir can have the last copy of a ledger: who keeps it is up, and has been within reach for a moment.
func (o *oracle) reaches(heir *host, l *ledger, part int) bool {
	keeper := o.w.hosts[l.ackedAt]
	if keeper == nil || !keeper.alive || keeper.life != l.ackLife || keeper.paused ||
		keeper.kept[part] == nil && keeper.held[part] == nil {
		return false
	}
	for _, way := range [][2]string{{heir.id, keeper.id}, {keeper.id, heir.id}} {
		if at, ok := o.w.healed[way]; o.w.cut[way] || ok && o.w.now-at < findable {
			return false
		}
	}
	return true
}

// forget begins anew, because all have gone and nothing is left.
func (o *oracle) forget() {
	for part := range o.level {
		o.level[part], o.last[part] = o.w.cfg.capacity, nil
	}
}

// watch looks every millisecond who decides.
func (o *oracle) watch() {
	for part := range o.excess {
		deciders := o.w.deciders(part)
		if len(deciders) > 1 {
			o.two++
			if !o.wasTwo[part] {
				o.allowed[part] += o.w.cfg.capacity
			}
			o.allowed[part] += o.w.cfg.rate * fast * 0.001
			if !o.apart {
				o.w.fail("partition %d is decided by %s", part, describe(deciders, part))
			}
		}
		o.wasTwo[part] = len(deciders) > 1
		switch {
		case len(deciders) > 0:
			if o.gapFrom[part] >= 0 {
				o.gaps = append(o.gaps, o.w.now-o.gapFrom[part])
				o.gapFrom[part] = -1
			}
			o.last[part] = &lastOwner{deciders[0], deciders[0].held[part]}
		case o.gapFrom[part] < 0:
			o.gapFrom[part] = o.w.now
		}
	}
	o.w.after(time.Millisecond, o.watch)
}

func describe(deciders []*host, part int) string {
	var all []string
	for _, h := range deciders {
		all = append(all, fmt.Sprintf("%v (%v, list %v)", h.m.self, h.m.parts[part].held.claim, h.m.list.members))
	}
	return strings.Join(all, " and ")
}
