package lease

import (
	"math"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// cost is the mean cost of a check, at least 1.
func (d Demand) cost() float64 {
	if d.Checks <= 0 {
		return 1
	}
	return max(1, d.Tokens/d.Checks)
}

// meter estimates a demand: a mean that forgets what is older than about 100 ms. The zero meter has seen nothing.
//
// Checks are added up and taken into the mean once in a while: an exponential for each would cost more than the check.
type meter struct {
	mean   Demand
	since  bucket.Instant // when the sums began
	tokens int64          // since then
	checks int64
}

const (
	forgets = 100 * time.Millisecond
	meters  = time.Millisecond // how often sums are taken into the mean
)

// add counts one check at now.
func (m *meter) add(now bucket.Instant, cost int64) {
	m.at(now)
	m.tokens += cost
	m.checks++
}

// at returns the mean at now.
func (m *meter) at(now bucket.Instant) Demand {
	switch took := now - m.since; {
	case took >= bucket.Instant(meters):
		m.fold(now)
	case took < 0: // the clock has stepped back
		m.since = now
	}
	return m.mean
}

func (m *meter) fold(now bucket.Instant) {
	took := time.Duration(now - m.since).Seconds()
	old := math.Exp(-took / forgets.Seconds())
	fresh := (1 - old) / took
	m.mean.Tokens = m.mean.Tokens*old + float64(m.tokens)*fresh
	m.mean.Checks = m.mean.Checks*old + float64(m.checks)*fresh
	m.since, m.tokens, m.checks = now, 0, 0
}
