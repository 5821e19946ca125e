package gossip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/drossel-dev/drossel/ring"
)

const (
	updateTimeout = 2 * time.Second
	leaveTimeout  = 5 * time.Second
)

// Gossip is one process's part in the gossip. All methods are safe for concurrent use.
type Gossip struct {
	roster     *roster
	journal    *journal
	list       *memberlist.Memberlist
	names      resolver
	seeds      []seed
	own        own
	wireLabel  string
	publishing sync.Mutex // one update of the meta at a time: memberlist reads its own record unlocked

	mu        sync.Mutex
	stage     stage
	work      sync.WaitGroup // calls in flight; grows only under mu, and not once closed
	closeOnce sync.Once
	closeErr  error
}

// stage is how far a Gossip's life has come.
type stage uint8

const (
	running stage = iota
	left
	closed
)

// Members returns who is alive, sorted by ID: of each ID the newest boot that is known. This node is always among them,
// also after Leave and Close, unless a newer process has taken its ID. The slice is the caller's.
func (g *Gossip) Members() []ring.Member { return g.roster.list() }

// Changes returns a channel that receives after Members has changed; changes that nobody has looked at are one. It has
// one reader, is the same at every call, and is never closed.
func (g *Gossip) Changes() <-chan struct{} { return g.roster.changes }

// Addr returns the ip:port that others use, with the port that was bound.
func (g *Gossip) Addr() string { return g.own.advertised.String() }

// SetState publishes the state of this node and returns when the others have been told, at the latest after 2 s, or
// when ctx ends. After an error other than ErrClosed the state is set all the same and reaches the others with the
// next exchange of full lists, within 15 s.
func (g *Gossip) SetState(ctx context.Context, state ring.State) error {
	if state < ring.Joining || state > ring.Leaving {
		return fmt.Errorf("%w: state %d is none of joining, active, leaving", ErrConfig, uint8(state))
	}
	err := g.await(ctx, running, func() error {
		g.publishing.Lock()
		defer g.publishing.Unlock()
		g.roster.setState(state)
		return g.list.UpdateNode(updateTimeout)
	})
	if err != nil {
		return fmt.Errorf("publish state %s: %w", state, err)
	}
	return nil
}

// Leave tells the others that this node goes, and returns when they have been told, at the latest after 5 s, or when
// ctx ends; that it could not reach them is logged as a warning and no error, since they will find out. Afterwards
// the node still passes on what it hears; keep it up for about a second before Close, so that the word gets around.
// It cannot join again. The error wraps ErrClosed after Close.
func (g *Gossip) Leave(ctx context.Context) error {
	g.reach(left)
	err := g.await(ctx, left, func() error { return g.list.Leave(leaveTimeout) })
	if errors.Is(err, ErrClosed) {
		return fmt.Errorf("leave: %w", err)
	}
	if err != nil {
		g.journal.add(slog.LevelWarn, "left, but the others may not have heard it; they will find this node dead",
			slog.Any("err", err))
	}
	return nil
}

// Close closes the sockets and waits for its own goroutines; calls in flight may hold it up for a few seconds, until
// they time out. Without a Leave before it the others take it for a crash. Further calls wait for the first and return
// the same.
func (g *Gossip) Close() error {
	g.closeOnce.Do(func() {
		g.reach(closed)
		g.work.Wait() // memberlist panics on a Leave after its Shutdown
		if err := g.list.Shutdown(); err != nil {
			g.closeErr = fmt.Errorf("close gossip: %w", err)
		}
		g.journal.close()
	})
	return g.closeErr
}

func (g *Gossip) reach(s stage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stage = max(g.stage, s)
}

// await runs work, which ends by itself in seconds, and returns its error, or that of ctx if ctx ends first: memberlist
// knows no contexts. It wraps ErrClosed, and runs nothing, beyond the latest stage in which work may be done.
func (g *Gossip) await(ctx context.Context, latest stage, work func() error) error {
	done := make(chan error, 1)
	g.mu.Lock()
	if g.stage > latest {
		g.mu.Unlock()
		return ErrClosed
	}
	g.work.Go(func() { done <- work() })
	g.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
