package lease

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// The figures by which leases are sized and paced. What moving one costs is in DESIGN.md.
const (
	// TTL is how long a lease lives. It is in no bound but that of a paused holder, so it is long enough to ride through
	// trouble; tokens come back by idle return, not by TTL.
	TTL = 2 * time.Second
	// Burn is how long after its last grant an owner gives a lease up.
	Burn = TTL + TTL/burnSlack
	// Target is for how long a lease should last (T_L).
	Target = 200 * time.Millisecond
	// Idle is after how long without use a lease is given back.
	Idle = 2 * Target
	// DenyMax bounds a deny lease.
	DenyMax = time.Second
	// HeldDeny bounds a deny lease while something is held that may be put back.
	HeldDeny = 10 * time.Millisecond
	// MinChecks is how many checks in Target make a requester worth a lease: 50 a second.
	MinChecks = 10

	minPace     = 5 * time.Millisecond
	minLife     = 20 * time.Millisecond // that a lease is worth the trouble
	lendPart    = 4                     // a quarter of the capacity may be out (alpha)
	reservePart = 20                    // a twentieth of the capacity is for forwarded checks (rho)
	paceParts   = 8                     // a pace period is the eighth part of the time in which the bucket fills
	growth      = 1.25
	visible     = 1.2 // of a demand is considered, so that its growth is seen
	lowWater    = 3   // round trips that what is left must last for (kappa)
)

// Terms are what follows for lending from the limits of a group.
type Terms struct {
	// Capacity is the smallest burst; 0 if these limits are never lent from.
	Capacity int64
	// Pace is the time between renewals of a holder while the bucket is nearly empty (P).
	Pace time.Duration
}

// TermsOf returns the terms of limits, at least one.
func TermsOf(limits []bucket.Limit) Terms {
	if !bucket.Lends(limits) {
		return Terms{Pace: Target}
	}
	t := Terms{Capacity: limits[0].Burst, Pace: Target}
	for _, l := range limits {
		t.Capacity = min(t.Capacity, l.Burst)
		if l.Count != 0 { // else it never fills
			t.Pace = min(t.Pace, l.Window()/paceParts)
		}
	}
	t.Pace = max(t.Pace, minPace)
	return t
}

// lends says whether groups of these terms are lent from at all to somebody with such a demand: small buckets are not.
func (t Terms) lends(d Demand) bool { return float64(t.Capacity) >= 4*MinChecks*d.cost() }

// Lendable returns how many tokens may be lent at a time: none of a small bucket.
func (t Terms) Lendable() int64 {
	if !t.lends(Demand{}) {
		return 0
	}
	return t.Capacity / lendPart
}

// worth says whether a requester with such a demand gets leases.
func (t Terms) worth(d Demand) bool { return t.lends(d) && d.Checks*Target.Seconds() >= MinChecks }

// dear says whether a cost is so high that lending may keep it from ever being paid.
func (t Terms) dear(cost int64) bool { return cost > t.Capacity/reservePart }

// perSecond is the rate at which a limit fills: not at all if it is a window. It sizes leases and decides nothing.
func perSecond(l bucket.Limit) float64 {
	if l.Count == 0 || l.Algorithm != bucket.TokenBucket {
		return 0
	}
	return float64(l.Count) / l.Per.Seconds()
}

// tokensIn is what a rate brings in a time.
func tokensIn(rate float64, d time.Duration) float64 { return rate * d.Seconds() }
