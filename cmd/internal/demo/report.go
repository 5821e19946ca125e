package demo

// Report is what a run showed. Admitted is at most Bound: that is the promise.
type Report struct {
	Seconds float64 `json:"seconds"`
	Nodes   int     `json:"nodes"`
	// Checks, Admitted and Bound are sums over all keys, and so is OverAdmitted: a key that got less does not make up
	// for one that got too much.
	Checks       int64 `json:"checks"`
	Admitted     int64 `json:"admitted"`
	Bound        int64 `json:"bound"`
	OverAdmitted int64 `json:"over_admitted"`
	// AllowanceMoved and AllowanceRule are the parts of Bound above burst + rate*T. State does not move with a partition
	// yet, so each key whose owner changed has one more burst, and what comes in the time in which old and new owner may
	// both decide. Failure rules may admit as well.
	AllowanceMoved int64 `json:"allowance_moved"`
	AllowanceRule  int64 `json:"allowance_rule"`
	// Moved is the number of keys whose owner changed.
	Moved int `json:"moved_keys"`
	// Errors are checks without a decision; there must be none. Degraded ones were decided by a failure rule.
	Errors     int64  `json:"errors"`
	FirstError string `json:"first_error,omitempty"`
	Degraded   int64  `json:"degraded"`
	// LocalShare is the part of all checks decided at the node that was asked.
	LocalShare float64 `json:"local_share"`
	P50        float64 `json:"p50_seconds"`
	P99        float64 `json:"p99_seconds"`
	// Hot is the key that all nodes were asked for all the time.
	Hot KeyReport `json:"hot_key"`
}

// KeyReport is what one key got. Bound is burst + rate*T, without the allowances.
type KeyReport struct {
	Checks         int64 `json:"checks"`
	Admitted       int64 `json:"admitted"`
	Bound          int64 `json:"bound"`
	AllowanceMoved int64 `json:"allowance_moved"`
	AllowanceRule  int64 `json:"allowance_rule"`
	Over           int64 `json:"over_admitted"`
}

func (r *Report) add(k KeyReport) {
	r.Checks += k.Checks
	r.Admitted += k.Admitted
	r.Bound += k.Bound + k.AllowanceMoved + k.AllowanceRule
	r.AllowanceMoved += k.AllowanceMoved
	r.AllowanceRule += k.AllowanceRule
	r.OverAdmitted += k.Over
}

// Kept says whether every promise was kept.
func (r *Report) Kept() bool { return r.OverAdmitted == 0 && r.Errors == 0 }
