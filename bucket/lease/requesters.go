package lease

import "github.com/drossel-dev/drossel/bucket"

// requester returns what is known of a node, making room for it if need be.
func (l *Lender) requester(now bucket.Instant, name string) *requester {
	oldest := 0
	for i := range l.requesters {
		r := &l.requesters[i]
		if r.name == name {
			return r
		}
		if r.heard < l.requesters[oldest].heard {
			oldest = i
		}
	}
	fresh := requester{name: name, factor: 1, heard: now, granted: now - bucket.Instant(2*l.terms.Pace)}
	if len(l.requesters) < MaxRequesters {
		l.requesters = append(l.requesters, fresh)
		return &l.requesters[len(l.requesters)-1]
	}
	l.requesters[oldest] = fresh
	return &l.requesters[oldest]
}

// heard notes that a requester is there, and whether all of them together are still worth a lender.
func (l *Lender) heard(now bucket.Instant, r *requester) {
	r.heard = now
	all := 0.0
	for i := range l.requesters {
		if other := &l.requesters[i]; other.present(now) {
			all += other.demand.Checks
		}
	}
	if all >= HotChecks/2 {
		l.busy = now
	}
}

// present says whether a requester has been heard of lately, or was told to be silent.
func (r *requester) present(now bucket.Instant) bool {
	return now-r.heard < bucket.Instant(Idle+r.patience)
}

// active counts the requesters other than one that want something now.
func (l *Lender) active(now bucket.Instant, but *requester) (n int) {
	for i := range l.requesters {
		if r := &l.requesters[i]; r != but && r.present(now) && r.demand.Tokens > 0 {
			n++
		}
	}
	return n
}

// share is what a requester gets of a rate if it asks for so much, both in tokens per second.
func (l *Lender) share(now bucket.Instant, of *requester, rate, demand float64) float64 {
	var room [MaxRequesters]float64
	demands := append(room[:0], demand)
	for i := range l.requesters {
		if r := &l.requesters[i]; r != of && r.present(now) && r.demand.Tokens > 0 {
			demands = append(demands, visible*r.demand.Tokens)
		}
	}
	return maxMin(rate, demands, demand)
}

// Lendable returns how many tokens may be lent at a time: none of a small bucket.
func (l *Lender) Lendable() int64 { return l.terms.Lendable() }

// Renewals returns how many requests of other nodes and its own it has answered.
func (l *Lender) Renewals() int64 { return l.renewals }

// Cold says whether the lender has nothing out and is not worth having any more at now.
func (l *Lender) Cold(now bucket.Instant) bool {
	return l.Idle(now) && now-l.busy >= bucket.Instant(coolAfter)
}

// Holding is what one node has of a group.
type Holding struct {
	Node string
	// Tokens are what it may have left, at the most.
	Tokens int64
	// Demand is what it is asked for.
	Demand Demand
}

// Holdings returns what each node has, and whoever else asks for the group at now.
func (l *Lender) Holdings(now bucket.Instant) (all []Holding) {
	for i := range l.requesters {
		r := &l.requesters[i]
		if tokens := l.Held(r.name); tokens > 0 || r.present(now) {
			all = append(all, Holding{r.name, tokens, r.demand})
		}
	}
	return all
}

// Holders returns the nodes that have a lease, but for the owner itself.
func (l *Lender) Holders() (names []string) {
	for i := range l.entries {
		if name := l.entries[i].holder; name != "" {
			names = append(names, name)
		}
	}
	return names
}
