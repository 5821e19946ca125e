package pace

import (
	"context"
	"errors"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Checker decides. It is called from many goroutines at once.
type Checker interface {
	Check(ctx context.Context, req policy.Request) (policy.Decision, error)
}

// Options say how long to wait, whether to try again, and what limit of one's own there is. The zero value obeys servers, waits up to 10 s, and
// sends each request once.
type Options struct {
	// Limiter is asked before each request that goes out, and again once its denial is over: the fleet's own limit, so that the
	// server need not say no at all. Default: nil, none is asked.
	Limiter Checker
	// Policy names the policy of Limiter that applies, under the key of the place that the request goes to.
	Policy string
	// MaxWait is how long after its beginning a request may still be held back. One that would have to wait longer, or beyond the deadline of
	// its context, fails at once with ErrLimited and is not sent. More keeps callers waiting, less has them fail. Default: 10 s; negative:
	// none waits. What Limiter has taken for a request that is not sent is given back (policy.Request.Refund), and so is a turn at a pacer
	// that is too far away; but others have been told to wait behind it, so let its max_wait be no longer.
	MaxWait time.Duration
	// MaxClosed is how long a server is believed. One that says longer, which is more often a fault than meant, such as a date where a span
	// should be, gets a request after this time, and may say it again. Default: 1 h.
	MaxClosed time.Duration
	// MaxAttempts is how often a request is sent in all if the server denies it and says when to come back. Default, as 0 and 1: once, and
	// the denial is the answer.
	MaxAttempts int
	// OnError says what becomes of a request that Limiter could not decide: it is sent if OnError returns nil, else it fails with that
	// error. Default: it is sent, since the server has its own limit, unless the error wraps policy.ErrInvalid or policy.ErrUnknownPolicy,
	// which no request would ever get past.
	OnError func(ctx context.Context, err error) error
}

const (
	defaultMaxWait   = 10 * time.Second
	defaultMaxClosed = time.Hour
)

// last returns the instant up to which a request that begins now may wait.
func (o *Options) last(ctx context.Context, now time.Time) time.Time {
	wait := o.MaxWait
	if wait == 0 {
		wait = defaultMaxWait
	}
	last := now.Add(max(0, wait))
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(last) {
		return deadline
	}
	return last
}

// believed returns for how long a place is closed whose server asks for a wait.
func (o *Options) believed(wait time.Duration) time.Duration {
	most := o.MaxClosed
	if most <= 0 {
		most = defaultMaxClosed
	}
	return min(max(wait, least), max(most, least))
}

// undecided returns what becomes of a request after an error of Limiter.
func (o *Options) undecided(ctx context.Context, err error) error {
	switch {
	case o.OnError != nil:
		return o.OnError(ctx, err)
	case errors.Is(err, policy.ErrInvalid), errors.Is(err, policy.ErrUnknownPolicy):
		return err
	}
	return nil
}
