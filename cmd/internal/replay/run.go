package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/weblog"
)

// ErrAttribute is wrapped by Run's error when the key has an attribute that an access log never has.
var ErrAttribute = errors.New("not in an access log")

// Limiter decides one entry of the log. at is the entry's time and never runs back from one call to the next; calls do
// not overlap.
type Limiter interface {
	Check(ctx context.Context, at time.Time, req policy.Request) (policy.Decision, error)
}

// Options say how to replay. The zero Options put the whole log into one bucket of a policy without a name.
type Options struct {
	// Policy is the name that each request carries; "" has all policies apply that match.
	Policy string
	// Key are the attributes that make the key, each of weblog.AttributeNames, or several with "|" between them, as in a policy. An entry that lacks one is not checked: it
	// would share a bucket with strangers. None: all entries have one key, which is empty.
	Key []string
	// Top bounds the list of denied keys; 0 means 10.
	Top int
	// Nodes is how many nodes the limiter runs, for the report; 0 means 1.
	Nodes int
	// Progress, if set, is called about a hundred times on the way and once at the end with the entries done and those of
	// the whole log. Replay waits for it.
	Progress func(done, total int)
}

// Run checks the entries of web in their order and reports what became of them.
//
// A request that the limiter calls invalid (policy.ErrInvalid: a key that is too long, say) is counted as refused. Any
// other error of the limiter ends the replay, as does the end of ctx; Run then returns that error together with the
// report up to there. The error wraps ErrAttribute, and there is no report, if the key can't be had from a log.
func Run(ctx context.Context, web *weblog.Log, lim Limiter, opt Options) (*Report, error) {
	known := weblog.AttributeNames()
	for _, part := range opt.Key {
		for name := range strings.SplitSeq(part, "|") {
			if !slices.Contains(known, name) {
				return nil, fmt.Errorf("key attribute %q is %w, which has %s; take one of them as key", name, ErrAttribute,
					strings.Join(known, ", "))
			}
		}
	}
	t := newTally(web, opt)
	total := len(web.Entries)
	step := max(total/100, 1)
	for i := range web.Entries {
		if err := t.play(ctx, &web.Entries[i], lim); err != nil {
			return t.report(), fmt.Errorf("replay stopped after %d of %d entries: %w", i, total, err)
		}
		if done := i + 1; opt.Progress != nil && done%step == 0 && done < total {
			opt.Progress(done, total)
		}
	}
	if opt.Progress != nil {
		opt.Progress(total, total)
	}
	return t.report(), nil
}

// play checks one entry and counts the answer.
func (t *tally) play(ctx context.Context, e *weblog.Entry, lim Limiter) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	req := policy.Request{Policy: t.opt.Policy, Attributes: e.Attributes()}
	key, ok := keyOf(&req, t.opt.Key)
	if !ok {
		t.r.NoKey++
		return nil
	}
	d, err := lim.Check(ctx, e.At, req)
	switch {
	case errors.Is(err, policy.ErrInvalid):
		t.refused(e, err)
		return nil
	case err != nil:
		return fmt.Errorf("line %d: %w", e.Line, err)
	}
	t.decided(e.At, key, d.Allowed)
	return nil
}
