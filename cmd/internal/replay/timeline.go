package replay

import "time"

// Timeline counts decisions over time, in slots of equal length. The zero Timeline has no slots.
type Timeline struct {
	// Start is when the first slot begins: a whole multiple of Slot, in UTC.
	Start time.Time
	// Slot is how long each slot lasts: a round time, at least a second.
	Slot time.Duration
	// Slots are the counts, first to last, 1 to 30 of them.
	Slots []SlotCount
}

// SlotCount is what was decided in one slot.
type SlotCount struct{ Admitted, Denied int64 }

const (
	maxSlots = 30
	day      = 24 * time.Hour
)

// rounds are the lengths that a slot may have; beyond the last they double. Each is at most twice the one before, so
// that a long log has 15 slots or more.
var rounds = [...]time.Duration{
	time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	day, 2 * day, 4 * day, 7 * day, 14 * day, 28 * day,
}

// newTimeline returns the empty timeline with the shortest slots that reach from first to last.
func newTimeline(first, last time.Time) Timeline {
	length := rounds[0]
	for i := 1; ; i++ {
		start := first.Truncate(length)
		if n := last.Sub(start)/length + 1; n <= maxSlots {
			return Timeline{Start: start, Slot: length, Slots: make([]SlotCount, n)}
		}
		if i < len(rounds) {
			length = rounds[i]
		} else {
			length *= 2
		}
	}
}

// slot returns the slot that at, which lies between first and last, falls into.
func (t *Timeline) slot(at time.Time) *SlotCount { return &t.Slots[at.Sub(t.Start)/t.Slot] }
