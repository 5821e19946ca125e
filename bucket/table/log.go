package table

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// The sliding windows of a partition keep what they have admitted in one log, which grows and counts as the slabs do.

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
		p.log = new(bucket.Log)
	}
	if p.log.Size()-p.log.Used() >= g.logs {
		return true
	}
	more := max(minLog, p.log.Size()/2)
	if t.bytes.Add(int64(more)*bucket.LogEntryBytes) <= t.max {
		p.log.Grow(more)
		p.logSize = p.log.Size()
		return true
	}
	t.bytes.Add(-int64(more) * bucket.LogEntryBytes)
	if now-p.expired >= expireAgain {
		t.expire(p, now)
	}
	return p.log.Size()-p.log.Used() >= g.logs
}

// expire drops from the log of a partition what has ended by now.
func (t *Table) expire(p *partition, now bucket.Instant) {
	p.expired = now
	p.eachSlot(func(w []uint64) {
		if g := t.limits.at(unpack(w[2])); g.logs > 0 {
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
		p.log = new(bucket.Log)
	}
}

// countLog brings the memory that counts up to what the log of a partition takes, and gives an empty one back.
func (t *Table) countLog(p *partition) {
	if p.log == nil {
		return
	}
	size := p.log.Size()
	if p.log.Used() == 0 {
		p.log, size = nil, 0
	}
	t.bytes.Add(int64(size-p.logSize) * bucket.LogEntryBytes)
	p.logSize = size
}
