package pace

import (
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// ErrLimited is wrapped by the error of every request that was not sent because it would have had to wait too long. It is a *LimitedError.
var ErrLimited = errors.New("rate limited, and not sent")

// LimitedError says why a request was not sent.
type LimitedError struct {
	// Decision is that of Options.Limiter: a denial, or a pacer's turn that is too late. If ByServer is set it has only RetryAfter.
	Decision policy.Decision
	// ByServer says that the server has asked for this wait, after an earlier request.
	ByServer bool
}

// Error says who limits, and when to come back.
func (e *LimitedError) Error() string {
	who := fmt.Sprintf("limit %q of policy %q", e.Decision.LimitName, e.Decision.Policy)
	if e.ByServer {
		who = "the server has asked to wait"
	}
	if e.Decision.Never {
		return fmt.Sprintf("%v: %s does not cover it, and waiting does not help", ErrLimited, who)
	}
	return fmt.Sprintf("%v: %s: retry in %v", ErrLimited, who, e.Decision.RetryAfter)
}

// Unwrap returns ErrLimited.
func (e *LimitedError) Unwrap() error { return ErrLimited }

// GRPCStatus is RESOURCE_EXHAUSTED, with google.rpc.RetryInfo unless no wait can help: what callers of gRPC expect of a limit, be it the
// server's or their own.
func (e *LimitedError) GRPCStatus() *status.Status {
	st := status.New(codes.ResourceExhausted, e.Error())
	if e.Decision.Never {
		return st
	}
	full, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.Decision.RetryAfter)})
	if err != nil {
		return st
	}
	return full
}
