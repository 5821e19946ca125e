package replay

import (
	"testing"
	"time"
)

func TestNewTimeline(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 59, 0, time.UTC)
	for _, test := range []struct {
		span  time.Duration
		slot  time.Duration
		start time.Time
		slots int
	}{
		{0, time.Second, noon, 1},
		{29 * time.Second, time.Second, noon, 30},
		{30 * time.Second, 2 * time.Second, noon.Add(-time.Second), 16},
		{time.Minute, 3 * time.Second, noon.Add(-2 * time.Second), 21},
		{time.Hour, 3 * time.Minute, noon.Add(-59 * time.Second), 21},
		{83 * time.Hour, 3 * time.Hour, noon.Add(-59 * time.Second), 28},
		{365 * day, 14 * day, time.Date(2026, 2, 16, 0, 0, 0, 0, time.UTC), 28}, // weeks begin on Monday
		{10000 * day, 448 * day, time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC), 23},
	} {
		got := newTimeline(noon, noon.Add(test.span))
		if got.Slot != test.slot || !got.Start.Equal(test.start) || len(got.Slots) != test.slots {
			t.Errorf("over %v: %d slots of %v from %v; want %d of %v from %v", test.span, len(got.Slots), got.Slot, got.Start,
				test.slots, test.slot, test.start)
		}
	}
}

// TestTimelineReaches: every instant has its slot, and logs of a minute or more have at least 15 of them.
func TestTimelineReaches(t *testing.T) {
	first := time.Date(1970, 1, 1, 0, 0, 0, 1, time.UTC)
	for span := time.Duration(1); span > 0; span += span/3 + 1 {
		last := first.Add(span)
		line := newTimeline(first, last)
		if n := len(line.Slots); n > maxSlots || span > time.Minute && n < 15 {
			t.Errorf("over %v: %d slots", span, n)
		}
		line.slot(first).Admitted++
		line.slot(last).Denied++
		if line.Slots[0].Admitted != 1 || line.Slots[len(line.Slots)-1].Denied != 1 {
			t.Errorf("over %v: first and last fall into other slots: %+v", span, line.Slots)
		}
	}
}

func TestMarks(t *testing.T) {
	for _, test := range []struct {
		slot             SlotCount
		most             int64
		admitted, denied int
	}{
		{SlotCount{0, 0}, 100, 0, 0},
		{SlotCount{100, 0}, 100, 10, 0},
		{SlotCount{0, 100}, 100, 0, 10},
		{SlotCount{50, 50}, 100, 5, 5},
		{SlotCount{99, 1}, 100, 9, 1},
		{SlotCount{1, 99}, 100, 1, 9},
		{SlotCount{1, 1}, 1000, 1, 1},
		{SlotCount{1, 0}, 1000, 1, 0},
		{SlotCount{0, 1}, 1000, 0, 1},
		{SlotCount{51, 0}, 100, 6, 0},
	} {
		if a, d := marks(test.slot, test.most, 10); a != test.admitted || d != test.denied {
			t.Errorf("marks(%+v of %d) = %d, %d; want %d, %d", test.slot, test.most, a, d, test.admitted, test.denied)
		}
	}
	for a := range int64(40) {
		for d := range 40 - a {
			admitted, denied := marks(SlotCount{a, d}, 39, 10)
			if admitted+denied > 10 || (admitted > 0) != (a > 0) || (denied > 0) != (d > 0) {
				t.Errorf("marks of %d and %d are %d and %d", a, d, admitted, denied)
			}
		}
	}
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Second: "5s", 30 * time.Minute: "30m", 12 * time.Hour: "12h", day: "1 day", 14 * day: "14 days",
	} {
		if got := words(d); got != want {
			t.Errorf("words(%v) = %q, want %q", d, got, want)
		}
	}
}
