package interceptor

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// pause is when to come back where nobody has said when.
const pause = time.Second

// Deny returns the error that tells a caller of a denial: RESOURCE_EXHAUSTED with google.rpc.RetryInfo, which holds how long until a retry can
// succeed, and google.rpc.QuotaFailure, which names policy and limit and nothing of the caller. If no wait can help there is no RetryInfo. A
// denial because nobody could be asked is UNAVAILABLE, since the caller has done nothing wrong. Where the decision does not say how long to
// wait, it is a second.
func Deny(d policy.Decision) error {
	if d.DecidedBy == policy.Timeout {
		return refusal(status.New(codes.Unavailable, "the rate limit cannot be looked up for now"), retryInfo(d))
	}
	limit := fmt.Sprintf("rate limit %q of policy %q", d.LimitName, d.Policy)
	if d.LimitName == "" {
		limit = fmt.Sprintf("rate limit of policy %q", d.Policy)
	}
	quota := &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
		Subject:     "policy:" + text(d.Policy),
		Description: limit + " is used up",
		QuotaId:     text(d.LimitName),
		QuotaValue:  d.Limit,
	}}}
	if d.Never {
		quota.Violations[0].Description = limit + " does not cover this call"
		return refusal(status.New(codes.ResourceExhausted, limit+" does not cover this call, and waiting does not help"), quota)
	}
	retry := retryInfo(d)
	return refusal(status.Newf(codes.ResourceExhausted, "%s is used up: retry in %v", limit, retry.GetRetryDelay().AsDuration()), retry, quota)
}

func retryInfo(d policy.Decision) *errdetails.RetryInfo {
	wait := d.RetryAfter
	if wait <= 0 {
		wait = pause
	}
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}
}

// refusal returns a status with its details as an error.
func refusal(st *status.Status, details ...protoadapt.MessageV1) error {
	if full, err := st.WithDetails(details...); err == nil {
		st = full
	}
	return st.Err() // without them it still says no
}

// text is a text as it may stand in a protobuf string.
func text(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }
