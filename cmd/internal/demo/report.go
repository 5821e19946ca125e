package demo

import (
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
)

// Report is what a run showed. Admitted is at most Bound: that is the promise.
type Report struct {
	Seconds float64 `json:"seconds"`
	Nodes   int     `json:"nodes"`
	// Sums are those of all keys: of the hot one, for which all nodes were asked all the time, and of the others.
	Sums
	Hot    Sums `json:"hot_key"`
	Others Sums `json:"other_keys"`
	// Moved is the number of keys whose owner changed.
	Moved int `json:"moved_keys"`
	// Errors are checks without a decision; there must be none.
	Errors     int64  `json:"errors"`
	FirstError string `json:"first_error,omitempty"`
	// LeaseMessages were sent to owners about leases of all keys: requests, renewals, returns. A frame carries many.
	LeaseMessages int64 `json:"lease_messages"`
	// HotLeases is what was lent of the hot key near the end.
	HotLeases node.LeasedGroup `json:"hot_key_leases"`
}

// Sums are over some keys. OverAdmitted is so too: a key that got less does not make up for one that got too much.
type Sums struct {
	Checks       int64 `json:"checks"`
	Admitted     int64 `json:"admitted"`
	Bound        int64 `json:"bound"`
	OverAdmitted int64 `json:"over_admitted"`
	// AllowanceMoved and AllowanceRule are the parts of Bound above burst + rate*T. State does not move with a partition
	// yet, so each key whose owner changed has one more burst, and what comes in the time in which old and new owner may
	// both decide. Failure rules may admit as well. Leases need no allowance: what is lent has left the bucket before.
	AllowanceMoved int64 `json:"allowance_moved"`
	AllowanceRule  int64 `json:"allowance_rule"`
	// Decided says how the checks were decided, and LocalShare which part of them was where they were asked.
	Decided    Deciders `json:"decided"`
	LocalShare float64  `json:"local_share"`
	P50        float64  `json:"p50_seconds"`
	P99        float64  `json:"p99_seconds"`

	took []time.Duration
}

// Deciders counts checks by what decided them: the owner that was asked, tokens that were lent to the node that was
// asked, an owner's word that there are none, another node, or a failure rule.
type Deciders struct {
	Own       int64 `json:"own"`
	Lease     int64 `json:"lease"`
	DenyLease int64 `json:"deny_lease"`
	Forwarded int64 `json:"forwarded"`
	Rule      int64 `json:"rule"`
}

func (n *Deciders) count(d policy.Decision, asked string) {
	switch {
	case d.Degraded:
		n.Rule++
	case d.DecidedBy == policy.Lease:
		n.Lease++
	case d.DecidedBy == policy.DenyLease:
		n.DenyLease++
	case d.Node == asked:
		n.Own++
	default:
		n.Forwarded++
	}
}

func (n *Deciders) add(m Deciders) {
	n.Own += m.Own
	n.Lease += m.Lease
	n.DenyLease += m.DenyLease
	n.Forwarded += m.Forwarded
	n.Rule += m.Rule
}

// Kept says whether every promise was kept.
func (r *Report) Kept() bool { return r.OverAdmitted == 0 && r.Errors == 0 }

// report adds up, once all callers are done.
func (l *load) report(before [Keys + 1]string, leases node.LeasesStatus) *Report {
	r := &Report{Seconds: l.elapsed.Seconds(), Nodes: nodes, LeaseMessages: int64(l.cluster.leaseMessages())}
	after := l.cluster.owners()
	for k := range after {
		moved := after[k] != before[k] || after[k] == ""
		if moved {
			r.Moved++
		}
		row := l.key(k, moved)
		r.part(k == hotKey).add(row)
		r.Sums.add(row)
	}
	for _, c := range l.callers {
		r.Errors += c.errors
		if c.lastErr != nil {
			r.FirstError = c.lastErr.Error()
		}
		for _, s := range []*Sums{r.part(c.hot), &r.Sums} {
			s.Decided.add(c.decided)
			s.took = append(s.took, c.took...)
		}
	}
	for _, s := range []*Sums{&r.Hot, &r.Others, &r.Sums} {
		s.finish()
	}
	if i := slices.IndexFunc(leases.Groups, func(g node.LeasedGroup) bool { return g.Policy == hotPolicy }); i >= 0 {
		r.HotLeases = leases.Groups[i]
	}
	return r
}

func (r *Report) part(hot bool) *Sums {
	if hot {
		return &r.Hot
	}
	return &r.Others
}

// key returns what one key got.
func (l *load) key(k int, moved bool) (row Sums) {
	for _, c := range l.callers {
		row.Checks += c.checks[k]
		row.Admitted += c.admitted[k]
		row.AllowanceRule += c.byRule[k]
	}
	limit := Limit
	if k == hotKey {
		limit = HotLimit
	}
	row.Bound = limit.Burst + arrived(limit, l.elapsed) + row.AllowanceRule
	if moved {
		row.AllowanceMoved = limit.Burst + arrived(limit, l.overlap)
		row.Bound += row.AllowanceMoved
	}
	row.OverAdmitted = max(0, row.Admitted-row.Bound)
	return row
}

func (s *Sums) add(k Sums) {
	s.Checks += k.Checks
	s.Admitted += k.Admitted
	s.Bound += k.Bound
	s.OverAdmitted += k.OverAdmitted
	s.AllowanceMoved += k.AllowanceMoved
	s.AllowanceRule += k.AllowanceRule
}

// finish works out shares and quantiles.
func (s *Sums) finish() {
	if s.Checks == 0 {
		return
	}
	s.LocalShare = float64(s.Decided.Own+s.Decided.Lease+s.Decided.DenyLease) / float64(s.Checks)
	slices.Sort(s.took)
	n := len(s.took)
	s.P50, s.P99 = s.took[n/2].Seconds(), s.took[n*99/100].Seconds()
}

// arrived is how many tokens come in a time.
func arrived(l bucket.Limit, d time.Duration) int64 { return int64(d) * l.Count / int64(l.Per) }
