package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket/table"
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

	mu       sync.Mutex
	state    linkState
	lastErr  error
	queue    []*call // to be sent; nil where the caller gave up
	queued   int     // of them not nil
	slots    []slot  // sent
	free     []uint32
	frames   uint64 // sent on this connection
	dequeued uint64 // of them taken by the peer
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
	// window is how many frames may be under way that the peer has not taken yet.
	window = 2
	// maxWaiting bounds the checks of one link that are queued or sent; more are decided by rule at once.
	maxWaiting = 1 << 16
	// maxFrameChecks keeps a frame well under transport.MaxFrameBytes.
	maxFrameChecks = 2048
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

// enqueue puts a call on its way. It is false if the peer can't be reached or too much waits for it already.
func (l *link) enqueue(c *call) bool {
	l.mu.Lock()
	if l.state >= down || l.queued+len(l.slots)-len(l.free) >= maxWaiting {
		l.mu.Unlock()
		return false
	}
	c.sent, c.place = false, len(l.queue)
	l.queue = append(l.queue, c)
	l.queued++
	signal := l.queued == 1 && l.frames-l.dequeued < window
	l.mu.Unlock()
	if l.node.waiting.Add(1) == 1 {
		l.node.wakeExpiry()
	}
	if signal {
		l.signal()
	}
	return true
}

func (l *link) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// abandon takes a call out again. It is false if somebody else has taken it out to complete it.
func (l *link) abandon(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.sent && c.place < len(l.slots) && l.slots[c.place].call == c:
		l.takeSlotLocked(c.place)
		return true
	case !c.sent && c.place < len(l.queue) && l.queue[c.place] == c:
		l.takeQueuedLocked(c.place)
		return true
	}
	return false
}

func (l *link) takeSlotLocked(i int) *call {
	s := &l.slots[i]
	c := s.call
	s.call = nil
	s.generation++
	l.free = append(l.free, uint32(i))
	l.node.waiting.Add(-1)
	return c
}

func (l *link) takeQueuedLocked(i int) *call {
	c := l.queue[i]
	l.queue[i] = nil
	l.queued--
	l.node.waiting.Add(-1)
	return c
}

// expire completes what has waited too long. It returns the calls to be completed without the lock.
func (l *link) expire(now time.Duration, late []*call) []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.takeIfLocked(func(c *call) bool { return c.expires <= now }, late)
}

func (l *link) takeIfLocked(want func(*call) bool, taken []*call) []*call {
	for i, c := range l.queue {
		if c != nil && want(c) {
			taken = append(taken, l.takeQueuedLocked(i))
		}
	}
	for i := range l.slots {
		if c := l.slots[i].call; c != nil && want(c) {
			taken = append(taken, l.takeSlotLocked(i))
		}
	}
	return taken
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
	}
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
		log.Warn("peer not reached; its keys are decided by failure rule meanwhile", "error", err, "retry", wait)
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
	l.set(up, nil)
	var both sync.WaitGroup
	both.Go(func() { cancel(l.receive(p.Checks())) })
	both.Go(func() { cancel(l.bulk.receive(p.Bulk())) })
	l.bulk.open(p.Bulk())
	cancel(l.send(ctx, p.Checks()))
	p.Close()
	both.Wait()
	l.bulk.fail()
	return context.Cause(ctx)
}

// refs are the numbers by which one stream names groups of limits.
type refs struct {
	byGroup map[*table.Group]uint32
	last    *table.Group // most checks have the limits of the one before
	lastRef uint32
}

// of returns the number of a group, and whether the other end has to be told its limits.
func (r *refs) of(g *table.Group) (ref uint32, fresh bool) {
	if g == r.last {
		return r.lastRef, false
	}
	ref, known := r.byGroup[g]
	if !known {
		if len(r.byGroup) == maxRefs {
			r.release()
		}
		if r.byGroup == nil {
			r.byGroup = make(map[*table.Group]uint32)
		}
		ref = uint32(len(r.byGroup))
		g.Pin()
		r.byGroup[g] = ref
	}
	r.last, r.lastRef = g, ref
	return ref, !known
}

func (r *refs) release() {
	for g := range r.byGroup {
		g.Release()
	}
	*r = refs{}
}

// send puts what waits into frames until ctx ends or the stream fails.
func (l *link) send(ctx context.Context, s transport.Stream) error {
	var f transport.ChecksFrame
	var b []byte
	var r refs
	defer r.release()
	for {
		if !l.fill(&f, &r) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-l.wake:
			}
			continue
		}
		b = transport.AppendChecks(b[:0], &f)
		if err := s.Send(b); err != nil {
			return err
		}
	}
}

// fill moves what waits into a frame. It is false if nothing does, or the peer has not taken enough of what was sent.
func (l *link) fill(f *transport.ChecksFrame, r *refs) bool {
	f.Epoch = l.node.view.Load().epoch()
	f.Limits, f.Checks = f.Limits[:0], f.Checks[:0]
	now := l.node.elapsed()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queued == 0 {
		l.queue = l.queue[:0]
		return false
	}
	if l.frames-l.dequeued >= window {
		return false
	}
	taken := 0
	for _, c := range l.queue {
		if len(f.Checks) == maxFrameChecks {
			break
		}
		taken++
		if c == nil {
			continue
		}
		ref, fresh := r.of(c.group)
		if fresh {
			if ref == 0 && len(f.Checks) > 0 { // numbers start over, and checks of this frame use the old ones
				taken--
				r.release()
				break
			}
			f.Limits = append(f.Limits, transport.LimitsBody{Ref: ref, Limits: c.group.Limits()})
		}
		c.check.Number = l.slotLocked(c)
		c.check.Limits = ref
		c.check.Within = max(c.expires-now, 0)
		f.Checks = append(f.Checks, c.check)
	}
	l.queue = append(l.queue[:0], l.queue[taken:]...)
	for i, c := range l.queue {
		if c != nil {
			c.place = i
		}
	}
	l.queued -= len(f.Checks)
	l.frames++
	return true
}

// slotLocked moves a call from the queue to a slot and returns its number.
func (l *link) slotLocked(c *call) uint64 {
	if len(l.free) == 0 {
		old := len(l.slots)
		l.slots = append(l.slots, make([]slot, max(initialSlotsOnLink, old))...)
		for i := len(l.slots) - 1; i >= old; i-- {
			l.free = append(l.free, uint32(i))
		}
	}
	i := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	l.slots[i].call = c
	c.sent, c.place = true, int(i)
	return uint64(l.slots[i].generation)<<generationShift | uint64(i)
}

// receive takes answers to their callers until the stream ends.
func (l *link) receive(s transport.Stream) error {
	var f transport.AnswersFrame
	var done []*call
	for {
		frame, err := s.Recv()
		if err != nil {
			return err
		}
		if err := transport.DecodeAnswers(frame, &f); err != nil {
			return err
		}
		done = done[:0]
		l.mu.Lock()
		if f.Dequeued > l.frames {
			l.mu.Unlock()
			return errTooManyFrames
		}
		l.dequeued = max(l.dequeued, f.Dequeued)
		for i := range f.Answers {
			a := &f.Answers[i]
			at := a.Number & slotMask
			if at >= uint64(len(l.slots)) {
				continue
			}
			if s := &l.slots[at]; s.call != nil && s.generation == uint32(a.Number>>generationShift) {
				c := l.takeSlotLocked(int(at))
				c.answer = *a
				done = append(done, c)
			}
		}
		more := l.queued > 0
		l.mu.Unlock()
		if more {
			l.signal()
		}
		for _, c := range done {
			c.complete()
		}
	}
}

func (l *link) isUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == up
}
