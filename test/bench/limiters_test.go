package bench

import (
	"context"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
)

// limiter is a system that decides in this process.
type limiter interface {
	allow(key string) bool
}

// alone is Drossel on a node without others.
type alone struct{ handle *node.Handle }

func newAlone(tb testing.TB) alone {
	tb.Helper()
	set, err := policies()
	if err != nil {
		tb.Fatal(err)
	}
	n, err := node.New(node.Config{Policies: set})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := n.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := n.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	h, err := n.Handle(policyName)
	if err != nil {
		tb.Fatal(err)
	}
	return alone{h}
}

func (a alone) allow(key string) bool {
	d, err := a.handle.Check(context.Background(), policy.Request{Key: key})
	return err == nil && d.Allowed
}

// xtime is a map of golang.org/x/time limiters as it is usually written: a key is looked for first, and a limiter made
// only if there is none. It never forgets a key.
type xtime struct{ limiters sync.Map }

func (x *xtime) allow(key string) bool {
	l, ok := x.limiters.Load(key)
	if !ok {
		fresh := rate.NewLimiter(rate.Every(ample.Per/time.Duration(ample.Count)), int(ample.Burst))
		l, _ = x.limiters.LoadOrStore(key, fresh)
	}
	return l.(*rate.Limiter).Allow()
}

// locals are both systems and the keys that both have seen.
type locals struct {
	keys           []string
	drossel, xtime limiter
}

func newLocals(tb testing.TB, keys int) *locals {
	tb.Helper()
	l := &locals{makeKeys(0, keys), newAlone(tb), new(xtime)}
	for _, k := range l.keys {
		if !l.drossel.allow(k) || !l.xtime.allow(k) {
			tb.Fatalf("key %s was denied at once, want a bucket that is full", k)
		}
	}
	return l
}

// checks makes n checks in the order given and returns how many were denied.
func (l *locals) checks(system limiter, o *order, n int) (denied int) {
	for range n {
		if !system.allow(l.keys[o.next(len(l.keys))]) {
			denied++
		}
	}
	return denied
}
