package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
)

// link is the way to one other member: the checks that wait to be sent to it, and those that wait for its answer.
//
// What waits leaves in one frame. The next frame leaves when the peer has taken the last one off its stream, so frames
// grow with the load, and a check that comes alone waits for nothing; there is no timer in this.
type link struct {
	node   *Node
	member ring.Member
	cancel context.CancelFunc
	bulk   bulkLink
	wake   chan struct{} // one token while there may be something to send
	tried  chan struct{} // closed once the first attempt to connect is over
	trip   trip

	outbox  outbox
	words   words
	version atomic.Uint32 // of the frames on its connection
	telling []*purse      // of the sending goroutine

	mu       sync.Mutex
	state    linkState
	lastErr  error
	queue    []*call // to be sent; nil where the caller gave up
	queued   int     // of them not nil
	slots    []slot  // sent
	free     []uint32
	ends     []transport.HoldEnd // of holds, to be sent
	frames   uint64              // sent on this connection
	dequeued uint64              // of them taken by the peer
}

// slot holds a call that was sent. Its generation is part of the call's number on the wire, so that an answer that
// comes after the deadline is not taken for that of the slot's next call.
type slot struct {
	call       *call
	generation uint32
}

type linkState uint8

const (
	connecting linkState = iota // for the first time: checks wait for it
	up
	down // the last attempt failed: checks are decided by rule at once
	closed
)

func (s linkState) String() string { return [...]string{"connecting", "up", "down", "closed"}[s] }

const (
	// window is how many frames may be under way that the peer has not taken yet. With two, as many checks travel in twice
	// as many frames, which costs a fifth more CPU a check.
	window = 1
	// maxWaiting bounds the checks of one link that are queued or sent; more are decided by rule at once.
	maxWaiting = 1 << 16
	// maxFrameChecks keeps a frame well under transport.MaxFrameBytes.
	maxFrameChecks = 1024
	// maxRefs is how many groups of limits a link names before it starts over; each is held in memory at both ends.
	maxRefs = 1024

	dialTimeout        = time.Second
	minBackoff         = 50 * time.Millisecond
	maxBackoff         = time.Second
	refusedBackoff     = 10 * time.Second
	expiryInterval     = time.Millisecond
	generationShift    = 32
	slotMask           = 1<<generationShift - 1
	initialSlotsOnLink = 64
)

var errTooManyFrames = errors.New("the peer says that it took more frames than it was sent")

// newLink starts the goroutine that keeps the link connected; close ends it.
func (n *Node) newLink(m ring.Member) *link {
	ctx, cancel := context.WithCancel(context.Background())
	l := &link{node: n, member: m, cancel: cancel, wake: make(chan struct{}, 1), tried: make(chan struct{})}
	n.goroutines.Go(func() { l.run(ctx) })
	return l
}

// speaksBefore says that the peer is known to speak no frames of a version.
func (l *link) speaksBefore(version uint32) bool {
	v := l.version.Load()
	return v != 0 && v < version
}

// set changes the state; in any state but up nothing can wait, except for the first connection.
func (l *link) set(s linkState, err error) {
	l.mu.Lock()
	if l.state == connecting {
		close(l.tried)
	}
	if l.state == closed {
		s = closed
	}
	l.state, l.lastErr = s, err
	var lost []*call
	if s >= down {
		lost = l.takeIfLocked(func(*call) bool { return true }, nil)
		l.queue = l.queue[:0]
		l.ends = nil
	}
	l.mu.Unlock()
	for _, c := range lost {
		c.fail(transport.Unreachable)
	}
}

// giveUp has all checks that wait for the peer asked elsewhere.
func (l *link) giveUp() {
	l.mu.Lock()
	lost := l.takeIfLocked(func(*call) bool { return true }, nil)
	l.compactLocked(0)
	l.mu.Unlock()
	for _, c := range lost {
		c.fail(transport.Unreachable)
	}
}

func (l *link) close() {
	l.set(closed, nil)
	l.cancel()
}

// run connects, and connects again, until ctx ends.
func (l *link) run(ctx context.Context) {
	log := l.node.log.With("peer", l.member.ID, "address", l.member.Peer)
	backoff := minBackoff
	for ctx.Err() == nil {
		p, err := l.dial(ctx)
		if err == nil {
			log.Info("peer connected")
			backoff = minBackoff
			err = l.talk(ctx, p)
		}
		if ctx.Err() != nil {
			break
		}
		l.set(down, err)
		wait := backoff/2 + rand.N(backoff/2)
		if errors.Is(err, transport.ErrRefused) {
			wait = refusedBackoff // no use in asking often: somebody has to change a setting
		}
		level := slog.LevelWarn
		if backoff > minBackoff {
			level = slog.LevelDebug // said already
		}
		log.Log(ctx, level, "peer not reached; it is tried again and again", "error", err, "retry", wait)
		backoff = min(2*backoff, maxBackoff)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	l.set(closed, nil)
}

func (l *link) dial(ctx context.Context) (transport.Peer, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	p, err := l.node.network.Dial(ctx, l.member.Peer)
	if err != nil {
		return nil, err
	}
	if h := p.Hello(); h.ID != l.member.ID {
		p.Close()
		return nil, fmt.Errorf("%w: at the address of %s answers %s", transport.ErrRefused, l.member.ID, h.ID)
	}
	return p, nil
}

// talk sends and receives until the connection ends, and returns why.
func (l *link) talk(ctx context.Context, p transport.Peer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ctx, func() { p.Close() }) // whoever is blocked in it returns
	defer stop()
	l.mu.Lock()
	l.frames, l.dequeued = 0, 0
	l.mu.Unlock()
	l.version.Store(uint32(p.Version()))
	l.set(up, nil)
	l.node.turns.turn()
	var both sync.WaitGroup
	both.Go(func() { cancel(l.receive(p.Checks())) })
	both.Go(func() { cancel(l.bulk.receive(p.Bulk())) })
	l.bulk.open(p.Bulk())
	if err := l.send(ctx, p); errors.Is(err, io.EOF) {
		<-ctx.Done() // the stream has ended, and the receiving side is being told why
	} else {
		cancel(err)
	}
	p.Close()
	both.Wait()
	l.bulk.fail()
	return context.Cause(ctx)
}

func (l *link) isUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == up
}
