package demo

import (
	"cmp"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// reference is the bucket that a key would have if one node decided everything, run over what was admitted. It may run
// negative: how far it does is by how much the limit was exceeded, in the worst of all spans of time.
type reference struct {
	limit bucket.Limit
	level float64
	at    time.Duration
}

func (r *reference) advance(to time.Duration) {
	r.level = min(float64(r.limit.Burst), r.level+float64(r.limit.Count)*float64(to-r.at)/float64(r.limit.Per))
	r.at = to
}

// exceeded returns by how many tokens a limit was exceeded at least, and what was left in the bucket at an instant, at
// most. Admissions are put in order of their time.
//
// The times are those of the answers, and the decisions were somewhat earlier. So a span with all its decisions was longer
// than that of the answers by the slowest one at most, and as many tokens more had come.
func exceeded(limit bucket.Limit, all []admission, when time.Duration) (tokens int64, left float64) {
	slices.SortFunc(all, func(a, b admission) int { return cmp.Compare(a.at, b.at) })
	r := reference{limit: limit, level: float64(limit.Burst)}
	var slowest time.Duration
	lowest, seen := r.level, false
	for _, a := range all {
		if !seen && a.at > when {
			r.advance(when)
			left, seen = r.level, true
		}
		r.advance(a.at)
		r.level--
		lowest, slowest = min(lowest, r.level), max(slowest, a.took)
	}
	if !seen {
		r.advance(max(when, r.at))
		left = r.level
	}
	return max(0, int64(-lowest)-arrived(limit, slowest)), max(left, 0)
}

// arrived is how many tokens come in a time.
func arrived(l bucket.Limit, d time.Duration) int64 { return int64(d) * l.Count / int64(l.Per) }
