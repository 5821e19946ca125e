package headers

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// problem is the body of a denial: RFC 9457 with the types and the member of draft-ietf-httpapi-ratelimit-headers-11.
type problem struct {
	Type             string   `json:"type"`
	Title            string   `json:"title"`
	Status           int      `json:"status"`
	Detail           string   `json:"detail"`
	ViolatedPolicies []string `json:"violated-policies,omitempty"`
}

const problemTypes = "https://iana.org/assignments/http-problem-types#"

// ContentType is that of the body of a denial.
const ContentType = "application/problem+json"

// Denial is how a denied request is answered, beside the Fields.
type Denial struct {
	// Status is 429, or 503 if nobody could be asked: the client has done nothing wrong then.
	Status int
	// RetryAfter is the field of that name: whole seconds, rounded up, at least 1; "" if no wait can help.
	RetryAfter string
	// Body is of ContentType. It names the limits that denied.
	Body []byte
}

// Deny returns the denial of a request, given what its limits said: one or several decisions of which at least one denies.
func Deny(ds ...policy.Decision) Denial {
	p := problem{
		Type:   problemTypes + "quota-exceeded",
		Title:  "Too many requests",
		Status: http.StatusTooManyRequests,
		Detail: "The quota is used up for now.",
	}
	var denied []*policy.Decision
	asked := false // somebody was
	for i := range ds {
		if d := &ds[i]; !d.Allowed {
			denied = append(denied, d)
			asked = asked || d.DecidedBy != policy.Timeout
		}
	}
	for _, d := range denied {
		if name := limitName(d); d.DecidedBy != policy.Timeout && !slices.Contains(p.ViolatedPolicies, name) {
			p.ViolatedPolicies = append(p.ViolatedPolicies, name)
		}
	}
	if !asked {
		p.Type, p.Title = problemTypes+"temporary-reduced-capacity", "Not enough capacity"
		p.Status, p.Detail = http.StatusServiceUnavailable, "The quota cannot be looked up for now."
	}
	out := Denial{Status: p.Status, RetryAfter: "1"}
	switch one := mostPressing(denied); {
	case one == nil:
	case one.DecidedBy == policy.MissingKey:
		p.Detail, out.RetryAfter = "The request lacks what its quota is counted by, and waiting does not help.", ""
	case one.Never:
		p.Detail, out.RetryAfter = "The quota does not cover this request, and waiting does not help.", ""
	default:
		out.RetryAfter = decimal(max(1, wholeSeconds(one.RetryAfter)))
	}
	body, err := json.Marshal(p)
	if err != nil { // strings and a number can always be encoded
		body = nil
	}
	out.Body = body
	return out
}

// Write sets the fields of a denial, and answers with its status, or with another if that is not 0, and its body.
func (d Denial) Write(w http.ResponseWriter, status int) {
	h := w.Header()
	if d.RetryAfter != "" {
		h.Set("Retry-After", d.RetryAfter)
	}
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	if status == 0 {
		status = d.Status
	}
	w.WriteHeader(status)
	_, _ = w.Write(d.Body) // it fails if the client has hung up, and then there is nobody to tell
}
