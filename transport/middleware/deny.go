package middleware

import (
	"encoding/json"
	"net/http"
	"strconv"

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

// Deny answers a denied request: 429 with a problem body of type quota-exceeded that names the limit, and Retry-After
// in whole seconds, rounded up and at least 1. A denial because nobody could be asked is 503 of type
// temporary-reduced-capacity: the client has done nothing wrong. If no wait can help there is no Retry-After.
func Deny(w http.ResponseWriter, _ *http.Request, d policy.Decision) {
	p := problem{
		Type:             problemTypes + "quota-exceeded",
		Title:            "Too many requests",
		Status:           http.StatusTooManyRequests,
		Detail:           "The quota is used up for now.",
		ViolatedPolicies: []string{limitName(d)},
	}
	if d.DecidedBy == policy.Timeout {
		p.Type, p.Title = problemTypes+"temporary-reduced-capacity", "Not enough capacity"
		p.Status, p.Detail = http.StatusServiceUnavailable, "The quota cannot be looked up for now."
		p.ViolatedPolicies = nil
	}
	h := w.Header()
	if d.Never {
		p.Detail = "The quota does not cover this request, and waiting does not help."
	} else {
		h.Set("Retry-After", strconv.FormatInt(max(1, wholeSeconds(d.RetryAfter)), 10))
	}
	body, err := json.Marshal(p)
	if err != nil { // strings and a number can always be encoded
		body = nil
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // it fails if the client has hung up, and then there is nobody to tell
}
