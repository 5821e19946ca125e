package table

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// The sliding windows of a partition keep what they have admitted in one log, which grows and counts as the slabs do.

// slotLog is the log of a partition.
type slotLog struct {
	bucket.Log
	counted int            // entries that count as memory
	expired bucket.Instant // when it was last looked through
}

// entries is the log of a partition as its groups have it, or nil.
func (p *partition) entries() *bucket.Log {
	if p.log == nil {
		return nil
	}
	return &p.log.Log
}

const (
	minLog = 64 // entries
	// A log that may not grow is looked through for what has ended after this time again.
	expireAgain = bucket.Instant(100 * time.Millisecond)
)

// logRoom says whether there is room for an entry of each limit of a group that needs one, and makes it if the memory bound
// allows, or if something has ended.
func (t *Table) logRoom(p *partition, g *Group, now bucket.Instant) bool {
	if g.logs == 0 {
		return true
	}
	if p.log == nil {
		p.log = new(slotLog)
	}
	if p.log.Size()-p.log.Used() >= g.logs {
		return true
	}
	more := max(minLog, p.log.Size()/2)
	if t.bytes.Add(int64(more)*bucket.LogEntryBytes) <= t.max {
		p.log.Grow(more)
		p.log.counted = p.log.Size()
		return true
	}
	t.bytes.Add(-int64(more) * bucket.LogEntryBytes)
	if now-p.log.expired >= expireAgain {
		t.expire(p, now)
	}
	return p.log.Size()-p.log.Used() >= g.logs
}

// expire drops from the log of a partition what has ended by now.
func (t *Table) expire(p *partition, now bucket.Instant) {
	p.log.expired = now
	p.eachSlot(func(w []uint64) {
		g := t.limits.at(unpack(w[2]))
		switch {
		case g.logs == 0:
		case w[2]&(hotFlag|heldFlag) != 0: // what is out is in the way
			t.refill(p, w, g, now)
		default:
			var room [MaxStates]bucket.State
			s := t.take(p, w, g, &room)
			s.Refill(now, 0)
			put(w, s.States)
		}
	})
}

// logged makes a log if a group needs one. What it then grows by counts once countLog is called, above the bound if need be.
func (p *partition) logged(g *Group) {
	if g.logs > 0 && p.log == nil {
		p.log = new(slotLog)
	}
}

// countLog brings the memory that counts up to what the log of a partition takes, and gives an empty one back.
func (t *Table) countLog(p *partition) {
	if p.log == nil {
		return
	}
	size := p.log.Size()
	if p.log.Used() == 0 {
		size = 0
	}
	t.bytes.Add(int64(size-p.log.counted) * bucket.LogEntryBytes)
	if p.log.counted = size; size == 0 {
		p.log = nil
	}
}
