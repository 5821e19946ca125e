package pace

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// at is the instant so many seconds after start.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func TestGate(t *testing.T) {
	var g gate
	steps := []struct {
		now   int
		place string
		until int // close it until then; 0: look only
		opens int // what opens says afterwards; 0: it is open
	}{
		{0, "a", 0, 0},
		{0, "a", 10, 10},
		{1, "b", 0, 0},   // another place
		{1, "a", 5, 10},  // a word that asks for less
		{2, "a", 12, 12}, // one that asks for more
		{11, "a", 0, 12},
		{12, "a", 0, 0}, // at the very instant
		{13, "a", 14, 14},
		{14, "a", 0, 0},
	}
	for i, s := range steps {
		if s.until > 0 {
			g.close(s.place, at(s.until), at(s.now))
		}
		got := g.opens(s.place, at(s.now))
		if want := at(s.opens); got != want && !(s.opens == 0 && got.IsZero()) {
			t.Errorf("step %d: %s opens at %v, want %v", i, s.place, got, want)
		}
	}
	if len(g.closed) != 0 {
		t.Errorf("%d places are remembered though all are open", len(g.closed))
	}
}

// TestGateAgainstModel: as long as it has room, a gate is a map that forgets nothing.
func TestGateAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g gate
		model := make(map[string]int)
		now := 0
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			now += rapid.IntRange(0, 3).Draw(t, "later")
			place := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "place")
			if wait := rapid.IntRange(0, 9).Draw(t, "wait"); wait > 0 {
				g.close(place, at(now+wait), at(now))
				model[place] = max(model[place], now+wait)
			}
			got := g.opens(place, at(now))
			if want := model[place]; want > now && got != at(want) || want <= now && !got.IsZero() {
				t.Fatalf("at %d %s opens at %v, want %d", now, place, got, want)
			}
		}
	})
}

// C115, C116: places are bounded, and what is still closed is not forgotten for what opens sooner.
func TestGateIsBounded(t *testing.T) {
	var g gate
	g.close("long", at(1000), start)
	for i := range 3 * maxPlaces {
		g.close(fmt.Sprint(i), at(10), start)
		if len(g.closed) > maxPlaces {
			t.Fatalf("%d places are remembered", len(g.closed))
		}
	}
	if got := g.opens("long", at(1)); got != at(1000) {
		t.Errorf("after a flood the place opens at %v, want %v", got, at(1000))
	}
	g.close("longer", at(20), at(1))
	if got := g.opens("longer", at(1)); got != at(20) || len(g.closed) != maxPlaces {
		t.Errorf("a place that opens later than most opens at %v with %d remembered", got, len(g.closed))
	}
	g.close("after", at(2000), at(20))
	if got := len(g.closed); got != 2 {
		t.Errorf("%d places are remembered when all but two have opened", got)
	}
}

func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "wait"))
		room := wait + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "room"))
		random := rapid.Float64Range(0, 0.999999).Draw(t, "random")
		got := spread(wait, room, random)
		if got < wait || got > room || got > wait+wait/4 {
			t.Fatalf("spread(%v, %v, %v) = %v", wait, room, random, got)
		}
	})
	if a, b := spread(time.Second, time.Minute, 0), spread(time.Second, time.Minute, 0.5); a != time.Second || b != 1125*time.Millisecond {
		t.Errorf("a second becomes %v and %v, want 1 s and 1.125 s", a, b)
	}
}
