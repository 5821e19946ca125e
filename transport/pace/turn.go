package pace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// turn waits until a request may go to a place, but not beyond last. It returns nil then, else why the request must not be sent: a
// *LimitedError, or an error that wraps the one of ctx.
func (o *Options) turn(ctx context.Context, g *gate, place string, last time.Time) error {
	if err := pass(ctx, g, place, last); err != nil || o.Limiter == nil {
		return err
	}
	charged, err := o.ask(ctx, place, last)
	if err == nil {
		err = pass(ctx, g, place, last) // it may have closed meanwhile
	}
	if err != nil && charged {
		// Of what is not sent nothing counts. If it can't be given back, somebody waits a little longer than he had to.
		_, _ = o.Limiter.Check(context.WithoutCancel(ctx), policy.Request{Policy: o.Policy, Key: place, Refund: true})
	}
	return err
}

// pass waits until a place is open.
func pass(ctx context.Context, g *gate, place string, last time.Time) error {
	for {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		now := time.Now()
		opens := g.opens(place, now)
		if opens.IsZero() {
			return nil
		}
		wait := opens.Sub(now)
		if opens.After(last) {
			return &LimitedError{Decision: policy.Decision{RetryAfter: wait}, ByServer: true}
		}
		if err := sleep(ctx, spread(wait, last.Sub(now), rand.Float64())); err != nil {
			return err
		}
	}
}

// ask waits until Limiter admits a request, and its turn has come. charged says that it has taken
// something for it, also if that can't wait for its turn; what was admitted by rule may not have cost anything.
func (o *Options) ask(ctx context.Context, place string, last time.Time) (charged bool, err error) {
	for {
		d, err := o.Limiter.Check(ctx, policy.Request{Policy: o.Policy, Key: place})
		switch {
		case err != nil && ctx.Err() != nil:
			return false, ended(ctx)
		case err != nil:
			if err := o.undecided(ctx, err); err != nil {
				return false, fmt.Errorf("request not sent, its own limit could not be checked: %w", err)
			}
			return false, nil
		case d.Allowed && d.Wait() <= 0:
			return !d.Degraded, nil
		}
		room := time.Until(last)
		wait := d.RetryAfter
		if !d.Allowed {
			wait = max(wait, least)
		}
		if d.Never || wait > room {
			return d.Allowed && !d.Degraded, &LimitedError{Decision: d}
		}
		if d.Allowed {
			return !d.Degraded, sleep(ctx, wait) // a pacer has spread its turns already
		}
		if err := sleep(ctx, spread(wait, room, rand.Float64())); err != nil {
			return false, err
		}
	}
}

// sleep waits for a while. The error says that ctx ended before.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

func ended(ctx context.Context) error {
	return fmt.Errorf("request not sent, it waited for its turn: %w", ctx.Err())
}
