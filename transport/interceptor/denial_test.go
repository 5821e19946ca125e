package interceptor

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// details returns those of a denial, nil where there is none.
func details(err error) (retry *errdetails.RetryInfo, quota *errdetails.QuotaFailure) {
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			retry = d
		case *errdetails.QuotaFailure:
			quota = d
		}
	}
	return retry, quota
}

func TestDeny(t *testing.T) {
	tests := []struct {
		id    string
		d     policy.Decision
		code  codes.Code
		retry time.Duration // 0: none
		quota string        // what the violation says; "" is none
	}{
		{"exactly", policy.Decision{Policy: "api", LimitName: "burst", RetryAfter: 1500*time.Millisecond + 1, ResetAfter: time.Hour},
			codes.ResourceExhausted, 1500*time.Millisecond + 1, `rate limit "burst" of policy "api" is used up`},
		{"C58: no rounding", policy.Decision{Policy: "api", LimitName: "burst", RetryAfter: 19100 * time.Millisecond},
			codes.ResourceExhausted, 19100 * time.Millisecond, `rate limit "burst" of policy "api" is used up`},
		{"nobody said when", policy.Decision{Policy: "api"}, codes.ResourceExhausted, time.Second, `rate limit of policy "api" is used up`},
		{"never", policy.Decision{Policy: "api", LimitName: "burst", Never: true}, codes.ResourceExhausted, 0,
			`rate limit "burst" of policy "api" does not cover this call`},
		{"nobody could be asked", policy.Decision{Policy: "api", DecidedBy: policy.Timeout}, codes.Unavailable, time.Second, ""},
		{"nobody could be asked, for long", policy.Decision{DecidedBy: policy.Timeout, RetryAfter: time.Minute}, codes.Unavailable, time.Minute, ""},
		{"a name that is no text", policy.Decision{Policy: "a\xff", LimitName: "b\xff", RetryAfter: time.Second}, codes.ResourceExhausted,
			time.Second, `rate limit "b\xff" of policy "a\xff" is used up`},
	}
	for _, tt := range tests {
		err := Deny(tt.d)
		retry, quota := details(err)
		if status.Code(err) != tt.code || retry.GetRetryDelay().AsDuration() != tt.retry || (retry != nil) != (tt.retry > 0) {
			t.Errorf("%s: %v with %v, want %v with %v", tt.id, err, retry, tt.code, tt.retry)
		}
		switch v := quota.GetViolations(); {
		case tt.quota == "" && quota != nil:
			t.Errorf("%s: a violation of nothing: %v", tt.id, quota)
		case tt.quota == "":
		case len(v) != 1 || v[0].GetDescription() != tt.quota || !strings.HasPrefix(v[0].GetSubject(), "policy:a"):
			t.Errorf("%s: violations %v, want %q", tt.id, v, tt.quota)
		}
	}
}
