package lease

import (
	"math"
	"testing"

	"github.com/drossel-dev/drossel/bucket"
)

// asked counts checks of a cost, evenly, from an instant for a while.
func asked(m *meter, from, long, every bucket.Instant, cost int64) bucket.Instant {
	for now := from; now < from+long; now += every {
		m.add(now, cost)
	}
	return from + long
}

func TestMeter(t *testing.T) {
	near := func(t *testing.T, got Demand, tokens, checks float64) {
		t.Helper()
		if math.Abs(got.Tokens-tokens) > .02*tokens+.01 || math.Abs(got.Checks-checks) > .02*checks+.01 {
			t.Errorf("%+v, want %v tokens and %v checks a second", got, tokens, checks)
		}
	}
	t.Run("settles on what is asked", func(t *testing.T) {
		var m meter
		now := asked(&m, sec, sec, ms, 5)
		near(t, m.at(now), 5000, 1000)
		now = asked(&m, now, sec, 5*ms, 1)
		near(t, m.at(now), 200, 200)
	})
	t.Run("forgets the greater part in a tenth of a second", func(t *testing.T) {
		var m meter
		now := asked(&m, sec, sec, ms, 1)
		if d := m.at(now + 100*ms); d.Checks < 330 || d.Checks > 410 { // 1000/e, but for what was not yet in the mean
			t.Errorf("%+v", d)
		}
		near(t, m.at(now+10*sec), 0, 0)
	})
	t.Run("a first check is not a flood", func(t *testing.T) {
		var m meter
		m.add(3600*sec, 1)
		if d := m.at(3600*sec + 10*ms); d.Checks > 20 {
			t.Errorf("one check is %+v", d)
		}
	})
	t.Run("a clock that steps back does no harm", func(t *testing.T) {
		var m meter
		now := asked(&m, sec, sec, ms, 1)
		now = asked(&m, now-30*sec, sec, ms, 1)
		near(t, m.at(now), 1000, 1000)
	})
	t.Run("has seen nothing", func(t *testing.T) {
		var m meter
		near(t, m.at(5*sec), 0, 0)
	})
}

func TestDemandCost(t *testing.T) {
	for d, want := range map[Demand]float64{
		{}: 1, {Tokens: 10, Checks: 10}: 1, {Tokens: 50, Checks: 10}: 5, {Tokens: 1, Checks: 10}: 1,
	} {
		if got := d.cost(); got != want {
			t.Errorf("the mean cost of %+v is %v, want %v", d, got, want)
		}
	}
}
