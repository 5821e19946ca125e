package cases

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/ring"
)

// Outcome is what came of a step.
type Outcome struct {
	// Step is its place in its case, from 1.
	Step int
	// Line is where it is in the file.
	Line int
	// At is the first time at which it asked, since the start of the case.
	At time.Duration
	// Times is how often it asked, and Allowed how often that was allowed.
	Times, Allowed int64
	// Last is the last decision; the zero Decision if it was refused.
	Last policy.Decision
	// Refused is why it was refused, "" if it was not. Nothing more was asked then.
	Refused string
	// Wrong says what is not as expected. It has passed if there is nothing.
	Wrong []string
}

// CaseOutcome is what came of a case.
type CaseOutcome struct {
	Name  string
	Line  int
	Steps []Outcome
}

// FileOutcome is what came of the cases of a file.
type FileOutcome struct {
	Name  string
	Cases []CaseOutcome
}

// clock stands at the instant of the step that is being asked.
type clock struct{ now atomic.Int64 }

// Now returns that instant, as Unix time.
func (c *clock) Now() bucket.Instant { return bucket.Instant(c.now.Load()) }

// Run runs the cases of a file, each at a node of its own that knows these policies. A step that fails does not keep those after it
// from being asked. The error is that of a node that does not start, or of ctx.
func Run(ctx context.Context, policies *policy.Set, f *File) (FileOutcome, error) {
	out := FileOutcome{Name: f.Name}
	d := policies.Definition()
	for i := range d.Policies {
		d.Policies[i].Sample = 0 // it goes by real time
	}
	policies, err := d.Set()
	if err != nil {
		return out, err
	}
	for i := range f.Cases {
		c, err := runCase(ctx, policies, &f.Cases[i])
		out.Cases = append(out.Cases, c)
		if err != nil {
			return out, fmt.Errorf("%s:%d: case %s: %w", f.Name, f.Cases[i].Line, f.Cases[i].Name, err)
		}
	}
	return out, nil
}

func runCase(ctx context.Context, policies *policy.Set, c *Case) (CaseOutcome, error) {
	out := CaseOutcome{Name: c.Name, Line: c.Line}
	clock := new(clock)
	clock.now.Store(c.Start.UnixNano())
	// Few partitions: who is alone owns all of them, and they cost time to make.
	n, err := node.New(node.Config{Name: "test", Policies: policies, Strict: node.NewMemoryStore(clock), Clock: clock, Ring: ring.Params{Partitions: 16}})
	if err != nil {
		return out, err
	}
	defer n.Close()
	if err := n.Start(ctx); err != nil {
		return out, err
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		o := Outcome{Step: i + 1, Line: s.Line, At: s.At.Sub(c.Start), Times: s.Times}
		if err := o.ask(ctx, n, clock, s); err != nil {
			return out, err
		}
		o.Wrong = s.Expect.unmet(&o)
		out.Steps = append(out.Steps, o)
	}
	return out, nil
}

// ask asks as often as a step says.
func (o *Outcome) ask(ctx context.Context, n *node.Node, clock *clock, s *Step) error {
	for i := range s.Times {
		clock.now.Store(s.At.Add(time.Duration(i) * s.Every).UnixNano())
		d, err := n.Check(ctx, s.Request)
		switch {
		case isRefusal(err):
			o.Refused, o.Last = err.Error(), policy.Decision{}
			return nil
		case err != nil:
			return err
		}
		if o.Last = d; d.Allowed {
			o.Allowed++
		}
	}
	return nil
}
