package web

import (
	"strconv"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// decision is the JSON of a policy.Decision: every field always there, but for RetryAfter and Wait.
type decision struct {
	Allowed    bool     `json:"allowed"`
	Limit      int64    `json:"limit"`
	Remaining  int64    `json:"remaining"`
	RetryAfter *seconds `json:"retry_after,omitempty"` // nil if allowed, or if no wait can help
	ResetAfter seconds  `json:"reset_after"`
	Never      bool     `json:"never"`
	LimitName  string   `json:"limit_name"`
	Policy     string   `json:"policy"`
	DecidedBy  string   `json:"decided_by"`
	Degraded   bool     `json:"degraded"`
	Node       string   `json:"node"`
	Window     seconds  `json:"window"`
	Wait       *seconds `json:"wait,omitempty"` // before it goes; nil if it need not
	Overage    bool     `json:"overage"`
	Unit       string   `json:"unit"` // that the limit counts; "" if none spoke

	ShadowDenied bool `json:"shadow_denied"`
}

func newDecision(d policy.Decision) decision {
	out := decision{
		Allowed:    d.Allowed,
		Limit:      d.Limit,
		Remaining:  d.Remaining,
		ResetAfter: seconds(d.ResetAfter),
		Never:      d.Never,
		LimitName:  d.LimitName,
		Policy:     d.Policy,
		DecidedBy:  d.DecidedBy.String(),
		Degraded:   d.Degraded,
		Node:       d.Node,
		Window:     seconds(d.Window),
		Overage:    d.Overage,
		Unit:       d.Unit,

		ShadowDenied: d.ShadowDenied,
	}
	if !d.Allowed && !d.Never {
		retry := seconds(d.RetryAfter)
		out.RetryAfter = &retry
	}
	if d.Wait() > 0 {
		wait := seconds(d.Wait())
		out.Wait = &wait
	}
	return out
}

// seconds is a duration as protobuf's JSON has it: seconds only, exact to the nanosecond, with no zeros at the end:
// "12.5s", "90s".
type seconds time.Duration

// MarshalText returns the text. It never fails.
func (s seconds) MarshalText() ([]byte, error) {
	sign, n := "", uint64(s)
	if s < 0 {
		sign, n = "-", -n
	}
	text := sign + strconv.FormatUint(n/1e9, 10)
	if frac := n % 1e9; frac != 0 {
		digits := strconv.FormatUint(1e9+frac, 10)[1:] // with the zeros in front
		text += "." + strings.TrimRight(digits, "0")
	}
	return []byte(text + "s"), nil
}
