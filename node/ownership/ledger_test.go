package ownership

import (
	"maps"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// ledger is the state of a partition: one bucket, and the debts that were settled.
type ledger struct {
	level   float64
	at      bucket.Instant
	open    bool
	settled map[string]int // by debtor, up to which
	spent   float64        // by this holder, ever
	acked   float64        // of it, as of the last snapshot that was confirmed
	ackedAt string
	ackLife int
}

func (h *host) full() *ledger {
	return &ledger{level: h.w.cfg.capacity, at: h.time(), settled: make(map[string]int)}
}

func (l *ledger) refill(h *host) {
	now := h.time()
	l.level = min(h.w.cfg.capacity, l.level+h.w.cfg.rate*max(0, time.Duration(now-l.at).Seconds()))
	l.at = max(l.at, now)
}

// copied returns the ledger for a new holder.
func (l *ledger) copied() *ledger {
	return &ledger{level: l.level, at: l.at, settled: maps.Clone(l.settled)}
}

// arrived returns the ledger as another host takes it in: how much was refilled on the way is not counted.
func (l *ledger) arrived(to *host) *ledger {
	c := l.copied()
	c.at = to.time()
	return c
}

// replicate sends snapshots, ten times a second.
func (h *host) replicate() {
	ids, owners := h.m.Successors(h.time())
	for part := range owners {
		s, ok := h.m.Snapshot(h.time(), part, ids[owners[part]], true)
		if !ok {
			continue
		}
		l := h.held[part]
		l.refill(h)
		h.snapshot(s, l.copied(), l.spent)
	}
	h.after(100*ms, h.replicate)
}

func (h *host) snapshot(s Snapshot, l *ledger, spent float64) {
	h.w.deliver(h, s.To, func(to *host) {
		if !to.m.Accepts(s) {
			if to.m.parts[s.Partition].copy.Claim != s.Claim {
				to.w.deliver(to, h.id, func(back *host) { back.m.Missed(s) })
			}
			return
		}
		to.kept[s.Partition] = l.arrived(to)
		to.m.Keeps(s)
		life := to.life
		to.w.deliver(to, h.id, func(back *host) { back.snapshotted(s, spent, life) })
	})
}

// snapshotted notes what the copy at another host has, in which life of that. One that is confirmed when authority has ended
// may be too late: the heir has asked for copies perhaps.
func (h *host) snapshotted(s Snapshot, spent float64, life int) {
	h.m.Snapshotted(h.time(), s)
	h.flush()
	if held := h.m.parts[s.Partition].held; held != nil && held.claim == s.Claim && held.replica.acked == s.Seq &&
		h.m.hasAuthority(h.time()) {
		l := h.held[s.Partition]
		l.acked, l.ackedAt, l.ackLife = spent, s.To, life
	}
}
