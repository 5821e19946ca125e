package sim

import (
	"fmt"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// counts are checks, and the tokens that they asked for and got.
type counts struct {
	checks, admitted     int
	tokens, served       int64
	by, admittedBy       [policy.Shadow + 1]int
	local, localAdmitted int // decided where they were asked, by an owner or a lease
	degraded             int
}

func (n *counts) add(s check, d policy.Decision, here string) {
	n.checks++
	n.tokens += s.cost
	n.by[d.DecidedBy]++
	local := d.DecidedBy == policy.Lease || d.DecidedBy == policy.DenyLease ||
		d.DecidedBy == policy.Owner && d.Node == here
	if local {
		n.local++
	}
	if d.Degraded {
		n.degraded++
	}
	if d.Allowed {
		n.admitted++
		n.served += s.cost
		n.admittedBy[d.DecidedBy]++
		if local {
			n.localAdmitted++
		}
	}
}

// join adds other counts.
func (n *counts) join(m *counts) {
	n.checks += m.checks
	n.admitted += m.admitted
	n.tokens += m.tokens
	n.served += m.served
	n.local += m.local
	n.localAdmitted += m.localAdmitted
	n.degraded += m.degraded
	for i := range n.by {
		n.by[i] += m.by[i]
		n.admittedBy[i] += m.admittedBy[i]
	}
}

func (n *counts) String() string {
	var by []string
	for d, checks := range n.by {
		if checks > 0 {
			by = append(by, fmt.Sprintf("%v %d (%d admitted)", policy.DecidedBy(d), checks, n.admittedBy[d]))
		}
	}
	return fmt.Sprintf("%d checks, %d admitted: %s", n.checks, n.admitted, strings.Join(by, ", "))
}
