package policy

import "time"

// Decision is the whole answer to a Request: what the limits said, which of them spoke, and who decided.
type Decision struct {
	// Allowed says whether the request may go on. A denial took nothing.
	Allowed bool
	// Degraded says that a failure rule decided, because whoever should have decided could not be asked.
	Degraded bool
	// Overage says that a quota admitted the request beyond its amount, as its overage allows.
	Overage bool
	// ShadowDenied says that a limit in shadow mode would have denied.
	ShadowDenied bool
	// Never says that no wait can help: the cost is above the burst, or the bucket does not refill.
	Never bool
	// DecidedBy says what decided.
	DecidedBy DecidedBy
	// Policy and LimitName name the limit whose numbers follow: the one that denied, else the one nearest to denying.
	Policy, LimitName string
	// Unit is what that limit counts: Requests, or another unit of the policy; "" if no limit spoke.
	Unit string
	// Limit is what that limit admits at one instant when nothing was taken, in tokens: its burst; of a quota, with its overage; of
	// a pacer, how many requests of cost 1 may go or wait.
	Limit int64
	// Remaining is what is left of it, in whole tokens. If DecidedBy is Lease or DenyLease the numbers are an estimate:
	// the owner's last word, what has arrived since, and what is left at this node; if Sample, those of a moment ago; if
	// Timeout, 0 if denied, else the whole burst, for nobody took anything.
	Remaining int64
	// Window is the length of its window, of a month 31 days and of a year 366. Of a token bucket it is the time in which an empty
	// one becomes full, rounded up; 0 if it does not refill.
	Window time.Duration
	// RetryAfter is how long until the same request fits if nobody else takes; 0 if Never. Of a leased key it is when to ask again,
	// and no promise. If allowed, it is how long the request has to wait before it goes: 0 but for pacers.
	RetryAfter time.Duration
	// ResetAfter is how long until nothing counts as taken any more if nobody takes.
	ResetAfter time.Duration
	// Node is the stable id of the node that decided; if DecidedBy is Sample, of the one that decided the check before.
	Node string
}

// Wait is how long an admitted request has to wait before it goes, for a limit of the policy that is a pacer; else 0.
func (d *Decision) Wait() time.Duration {
	if !d.Allowed {
		return 0
	}
	return d.RetryAfter
}

// Result is one answer of a batch: a decision, or the error of that item alone.
type Result struct {
	Decision Decision
	Err      error
}

// DecidedBy says what made a decision. The numbers are those of the wire.
type DecidedBy uint8

const (
	Unknown    DecidedBy = iota // nothing: the zero Decision
	Owner                       // the owner of the key
	Lease                       // tokens lent by the owner, where the check was made
	DenyLease                   // the owner's word that the bucket is empty for a while, where the check was made
	Redis                       // Redis, for a strict limit
	Local                       // this node's own share, as its failure rule says
	Timeout                     // a failure rule that needs no bucket: always allow, or always deny
	Exempt                      // a rule that exempts the request from limits, or a policy that does not limit it
	NoPolicy                    // no policy matched
	Shadow                      // a limit in shadow mode, which never denies
	Sample                      // the verdict on this key a moment ago, for a policy that decides one check in so many
	MissingKey                  // a policy that denies requests which lack a part of its key
)

var decidedBy = [...]string{
	"unknown", "owner", "lease", "deny_lease", "redis", "local", "timeout", "exempt", "no_policy", "shadow",
	"sample", "missing_key",
}

// String returns the name used in JSON. Metrics have words of their own (node/metrics).
func (d DecidedBy) String() string {
	if int(d) < len(decidedBy) {
		return decidedBy[d]
	}
	return decidedBy[Unknown]
}
