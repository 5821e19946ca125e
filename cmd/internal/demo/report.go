package demo

import (
	"slices"
	"time"

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
	// Killed is the node that was, Lost the number of keys that it owned, and OwnerlessSecs how long it took until each
	// partition had an owner again.
	Killed        string  `json:"killed"`
	Lost          int     `json:"lost_keys"`
	OwnerlessSecs float64 `json:"ownerless_seconds"`
	// Disturbed counts the times that another node was taken for lost as well, because this machine was too slow for it. If
	// any was, each key may have started from an older copy.
	Disturbed uint64 `json:"disturbed"`
	// Errors are checks without a decision; there must be none.
	Errors     int64  `json:"errors"`
	FirstError string `json:"first_error,omitempty"`
	// LeaseMessages were sent to owners about leases of all keys: requests, renewals, returns. A frame carries many.
	LeaseMessages int64 `json:"lease_messages"`
	// HotLeases is what was lent of the hot key near the end.
	HotLeases node.LeasedGroup `json:"hot_key_leases"`
}

// Sums are over some keys. OverAdmitted, above the allowance in any span of time, is so too: a key that got less does not
// make up for one that got too much.
type Sums struct {
	Checks       int64 `json:"checks"`
	Admitted     int64 `json:"admitted"`
	Bound        int64 `json:"bound"`
	OverAdmitted int64 `json:"over_admitted"`
	// AllowanceCrash and AllowanceRule are the parts of Bound above burst + rate*T: what the owner that was killed may have
	// debited since its last copy, a burst at most, and what failure rules admitted. Leases need none: what is lent has left
	// the bucket before. AllowanceUsed is what was admitted above burst + rate*t in the worst span of any length t.
	AllowanceCrash int64 `json:"allowance_crash"`
	AllowanceRule  int64 `json:"allowance_rule"`
	AllowanceUsed  int64 `json:"allowance_used"`
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
func (l *load) report(c crash, leases node.LeasesStatus) *Report {
	r := &Report{
		Seconds: l.elapsed.Seconds(), Nodes: nodes, LeaseMessages: int64(l.cluster.leaseMessages()),
		Killed: c.victim, OwnerlessSecs: c.ownerless.Seconds(), Disturbed: c.disturbed,
	}
	for k, owner := range c.owners {
		if owner == c.victim {
			r.Lost++
		}
		row := l.key(k, c)
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
func (l *load) key(k int, lost crash) (row Sums) {
	var admitted []admission
	for _, c := range l.callers {
		row.Checks += c.checks[k]
		row.AllowanceRule += c.byRule[k]
		admitted = append(admitted, c.admitted[k]...)
	}
	limit := Limit
	if k == hotKey {
		limit = HotLimit
	}
	row.Admitted = int64(len(admitted))
	used, left := exceeded(limit, admitted, lost.from)
	if lost.owners[k] == lost.victim {
		// What was in the bucket then and what came since is all that the owner can have debited, or lent.
		row.AllowanceCrash = min(limit.Burst, int64(left)+arrived(limit, lost.closed-lost.from)+1)
	}
	if lost.disturbed > 0 {
		row.AllowanceCrash += limit.Burst
	}
	allowance := row.AllowanceCrash + row.AllowanceRule
	row.Bound = limit.Burst + arrived(limit, l.elapsed) + allowance
	row.AllowanceUsed = min(used, allowance)
	row.OverAdmitted = max(0, row.Admitted-row.Bound, used-allowance)
	return row
}

func (s *Sums) add(k Sums) {
	s.Checks += k.Checks
	s.Admitted += k.Admitted
	s.Bound += k.Bound
	s.OverAdmitted += k.OverAdmitted
	s.AllowanceCrash += k.AllowanceCrash
	s.AllowanceRule += k.AllowanceRule
	s.AllowanceUsed += k.AllowanceUsed
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
