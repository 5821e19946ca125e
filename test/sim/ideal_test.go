package sim

import "github.com/drossel-dev/drossel/bucket"

// ideal is a group in one place that is asked as soon as anybody asks anywhere.
type ideal struct {
	limits []bucket.Limit
	states []bucket.State
	served int64
}

func (i *ideal) take(now bucket.Instant, cost int64) {
	for k := range i.states {
		if !i.states[k].Look(&i.limits[k], now, cost).Allowed {
			return
		}
	}
	for k := range i.states {
		i.states[k].Take(&i.limits[k], now, cost)
	}
	i.served += cost
}
