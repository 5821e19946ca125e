package node

import (
	"time"
)

// enqueue puts a call on its way. It is false if the peer can't be reached or too much waits for it already.
func (l *link) enqueue(c *call) bool {
	l.mu.Lock()
	if l.state >= down || l.queued+len(l.slots)-len(l.free) >= maxWaiting {
		l.mu.Unlock()
		return false
	}
	c.sent, c.place = false, len(l.queue)
	l.queue = append(l.queue, c)
	l.queued++
	signal := l.queued == 1 && l.frames-l.dequeued < window
	if l.node.waiting.Add(1) == 1 {
		l.node.wakeExpiry()
	}
	l.mu.Unlock()
	if signal {
		l.signal()
	}
	return true
}

func (l *link) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// abandon takes a call out again. It is false if somebody else has taken it out to complete it.
func (l *link) abandon(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.sent && c.place < len(l.slots) && l.slots[c.place].call == c:
		l.takeSlotLocked(c.place)
		return true
	case !c.sent && c.place < len(l.queue) && l.queue[c.place] == c:
		l.takeQueuedLocked(c.place)
		return true
	}
	return false
}

func (l *link) takeSlotLocked(i int) *call {
	s := &l.slots[i]
	c := s.call
	s.call = nil
	s.generation++
	l.free = append(l.free, uint32(i))
	l.node.waiting.Add(-1)
	return c
}

func (l *link) takeQueuedLocked(i int) *call {
	c := l.queue[i]
	l.queue[i] = nil
	l.queued--
	l.node.waiting.Add(-1)
	return c
}

// expire completes what has waited too long. It returns the calls to be completed without the lock.
func (l *link) expire(now time.Duration, late []*call) []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	late = l.takeIfLocked(func(c *call) bool { return c.expires <= now }, late)
	l.compactLocked(0) // while the peer takes nothing, nobody else does
	return late
}

// compactLocked drops the first calls of the queue, and those that were taken out of the rest.
func (l *link) compactLocked(sent int) {
	kept := l.queue[:0]
	for _, c := range l.queue[sent:] {
		if c != nil {
			c.place = len(kept)
			kept = append(kept, c)
		}
	}
	clear(l.queue[len(kept):])
	l.queue = kept
}

func (l *link) takeIfLocked(want func(*call) bool, taken []*call) []*call {
	for i, c := range l.queue {
		if c != nil && want(c) {
			taken = append(taken, l.takeQueuedLocked(i))
		}
	}
	for i := range l.slots {
		if c := l.slots[i].call; c != nil && want(c) {
			taken = append(taken, l.takeSlotLocked(i))
		}
	}
	return taken
}

// slotLocked moves a call from the queue to a slot and returns its number.
func (l *link) slotLocked(c *call) uint64 {
	if len(l.free) == 0 {
		old := len(l.slots)
		l.slots = append(l.slots, make([]slot, max(initialSlotsOnLink, old))...)
		for i := len(l.slots) - 1; i >= old; i-- {
			l.free = append(l.free, uint32(i))
		}
	}
	i := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	l.slots[i].call = c
	c.sent, c.place = true, int(i)
	return uint64(l.slots[i].generation)<<generationShift | uint64(i)
}
