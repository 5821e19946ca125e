package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// least and most are what a figure must reach, or must not pass. Zero asks for nothing.
type least float64
type most float64

// TestEfficiency holds what leases are for against figures: ten nodes share a key of a rate and burst of 1,000 tokens
// that an eleventh owns. A message is a forwarded check, a renewal or a return of a lease.
func TestEfficiency(t *testing.T) {
	figures(t)
	even := func(h *hot, load float64) []source { return h.even(load*h.perSec(), h.holders) }
	for _, c := range []struct {
		name      string
		roundTrip time.Duration
		lasts     time.Duration
		load      float64 // of the rate
		sources   func(*hot, float64) []source

		ofIdeal, local, localAdmitted least
		fairness, polite              least
		perAdmitted, perSecond        most
	}{
		{
			name: "0.8x", roundTrip: 2 * ms, lasts: 20 * time.Second, load: 0.8, sources: even,
			ofIdeal: .99, local: .97, localAdmitted: .95, perAdmitted: .15,
		}, {
			name: "0.8x", roundTrip: 20 * ms, lasts: 20 * time.Second, load: 0.8, sources: even,
			ofIdeal: .99, local: .97, localAdmitted: .95, perAdmitted: .2,
		}, {
			name: "3x", roundTrip: 2 * ms, lasts: 20 * time.Second, load: 3, sources: even,
			ofIdeal: .99, local: .97, localAdmitted: .95, perAdmitted: .15, fairness: .85,
		}, {
			name: "3x", roundTrip: 20 * ms, lasts: 20 * time.Second, load: 3, sources: even,
			ofIdeal: .99, local: .97, localAdmitted: .95, perAdmitted: .2, fairness: .7,
		}, {
			name: "hog", roundTrip: 2 * ms, lasts: 20 * time.Second, sources: (*hot).hog,
			ofIdeal: .98, polite: .95, perAdmitted: .15,
		}, {
			name: "hog", roundTrip: 20 * ms, lasts: 20 * time.Second, sources: (*hot).hog,
			ofIdeal: .98, polite: .95, perAdmitted: .2,
		}, {
			name: "bursts", roundTrip: 2 * ms, lasts: 20 * time.Second, sources: (*hot).burst,
			ofIdeal: .98,
		}, {
			name: "bursts", roundTrip: 20 * ms, lasts: 20 * time.Second, sources: (*hot).burst,
			ofIdeal: .98,
		}, {
			name: "flood", roundTrip: 2 * ms, lasts: 4 * time.Second, load: 100, sources: even,
			perSecond: 300, fairness: .85,
		}, {
			name: "flood", roundTrip: 20 * ms, lasts: 4 * time.Second, load: 100, sources: even,
			perSecond: 300, fairness: .7,
		},
	} {
		t.Run(fmt.Sprintf("%s RTT %v", c.name, c.roundTrip), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHot(t, holders, c.roundTrip)
				st := h.load(c.lasts, c.sources(h, c.load))
				local, localAdmitted := st.localShare()
				polite := 1.0
				for _, i := range h.holders[1:] {
					polite = min(polite, st.servedShare(i))
				}
				for _, f := range []struct {
					name  string
					got   float64
					least least
					most  most
				}{
					{"admitted/ideal", st.ofIdeal(), c.ofIdeal, 0},
					{"decided locally", local, c.local, 0},
					{"admitted locally", localAdmitted, c.localAdmitted, 0},
					{"worst second", st.fairness(h.holders, rate), c.fairness, 0},
					{"worst of all but the first", polite, c.polite, 0},
					{"messages/admitted", st.messagesPerAdmitted(), 0, c.perAdmitted},
					{"messages/s", st.messagesPerSecond(), 0, c.perSecond},
				} {
					t.Logf("%-27s %8.3f", f.name, f.got)
					if f.least > 0 && f.got < float64(f.least) {
						t.Errorf("%s: %.3f, want at least %v", f.name, f.got, f.least)
					}
					if f.most > 0 && f.got > float64(f.most) {
						t.Errorf("%s: %.3f, want at most %v", f.name, f.got, f.most)
					}
				}
				t.Logf("%-27s %4d of %d", "denied early, at a level of", h.oracle.earliest(h.key), h.earlyBound())
				t.Logf("%v; %+v", &st.steady, st.messages)
				h.sound(st)
			})
		})
	}
}

// figures skips a test of figures that is run without the race detector as well: with it, it takes minutes and shows no
// more.
func figures(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("figures are shown without the race detector")
	}
}

// TestSeldomLent shows what leases do not help with, for the documentation: bursts too small to be lent from, and those
// used up within a few round trips. They are exact all the same.
func TestSeldomLent(t *testing.T) {
	figures(t)
	small := bucket.Limit{Count: 100, Per: time.Second, Burst: 20}
	short := bucket.Limit{Count: 20_000, Per: time.Second, Burst: 2000}
	even := func(load float64) func(*hot) []source {
		return func(h *hot) []source { return h.even(load*h.perSec(), h.holders) }
	}
	hog := func(h *hot) []source { return h.hog(0) }
	for _, c := range []struct {
		name      string
		limit     bucket.Limit
		roundTrip time.Duration
		lasts     time.Duration
		sources   func(*hot) []source
	}{
		{"100/s burst 20, 0.8x", small, 2 * ms, 20 * time.Second, even(0.8)},
		{"100/s burst 20, 3x", small, 2 * ms, 20 * time.Second, even(3)},
		{"100/s burst 20, hog", small, 2 * ms, 20 * time.Second, hog},
		{"100/s burst 20, flood", small, 2 * ms, 10 * time.Second, even(100)},
		{"20k/s burst 2k, 0.8x", short, 20 * ms, 3 * time.Second, even(0.8)},
		{"20k/s burst 2k, 3x", short, 20 * ms, 3 * time.Second, even(3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHotOf(t, holders, c.roundTrip, c.limit)
				st := h.load(c.lasts, c.sources(h))
				local, localAdmitted := st.localShare()
				polite := 1.0
				for _, i := range h.holders[1:] {
					polite = min(polite, st.servedShare(i))
				}
				t.Logf("RTT %v: admitted/ideal %.3f, decided locally %.3f of all and %.3f of the admitted, "+
					"%.2f messages per admitted check, %.0f per second, worst but the first %.2f, denied early at %d of %d",
					c.roundTrip, st.ofIdeal(), local, localAdmitted, st.messagesPerAdmitted(), st.messagesPerSecond(), polite,
					h.oracle.earliest(h.key), h.earlyBound())
				h.sound(st)
			})
		})
	}
}
