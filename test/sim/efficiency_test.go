package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// least and most are what a figure must reach, or must not pass. Zero asks for nothing.
type least float64
type most float64

// TestEfficiency holds what leases are for against figures: ten nodes share a key of a rate and burst of 1,000 tokens
// that an eleventh owns. A message is a forwarded check, a renewal or a return of a lease.
func TestEfficiency(t *testing.T) {
	even := func(h *hot, load float64) []source { return h.even(load*rate, h.holders) }
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
			ofIdeal: .99, perAdmitted: .2,
		}, {
			name: "3x", roundTrip: 2 * ms, lasts: 20 * time.Second, load: 3, sources: even,
			ofIdeal: .99, local: .97, localAdmitted: .95, perAdmitted: .15, fairness: .85,
		}, {
			name: "3x", roundTrip: 20 * ms, lasts: 20 * time.Second, load: 3, sources: even,
			ofIdeal: .99, perAdmitted: .2, fairness: .7,
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
			perSecond: 300,
		}, {
			name: "flood", roundTrip: 20 * ms, lasts: 4 * time.Second, load: 100, sources: even,
			perSecond: 300,
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
				t.Logf("%v; %+v", &st.steady, st.messages)
				h.sound(st)
			})
		})
	}
}
