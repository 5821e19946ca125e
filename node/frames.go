package node

import (
	"context"
	"runtime"

	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// refs are the numbers by which one stream names groups of limits.
type refs struct {
	byGroup map[*table.Group]told
	last    *table.Group // most checks have the limits of the one before
	lastOne told
}

// told is what the other end knows of a group.
type told struct {
	ref     uint32
	version uint64
}

// of returns the number of a group, and whether the other end has to be told its limits: that it has not heard of, or not that newer
// policies have them as well.
func (r *refs) of(g *table.Group) (ref uint32, fresh bool) {
	version := g.Version()
	if g == r.last && version == r.lastOne.version {
		return r.lastOne.ref, false
	}
	one, known := r.byGroup[g]
	if !known {
		if len(r.byGroup) == maxRefs {
			r.release()
		}
		if r.byGroup == nil {
			r.byGroup = make(map[*table.Group]told)
		}
		one.ref = uint32(len(r.byGroup))
		g.Pin()
	}
	if fresh = !known || version != one.version; fresh {
		one.version = version
		r.byGroup[g] = one
	}
	r.last, r.lastOne = g, one
	return one.ref, fresh
}

// body carries the limits of a group that was asked for last.
func (r *refs) body(g *table.Group) transport.LimitsBody {
	return transport.LimitsBody{Ref: r.lastOne.ref, Version: r.lastOne.version, Entry: g.Entry(), Limits: g.Limits()}
}

// startsOver says whether a group needs a new number and there is none left: all are given up then, which must not
// happen within a frame that uses them.
func (r *refs) startsOver(g *table.Group) bool {
	if len(r.byGroup) < maxRefs {
		return false
	}
	_, known := r.byGroup[g]
	return !known
}

func (r *refs) release() {
	for g := range r.byGroup {
		g.Release()
	}
	*r = refs{}
}

// send puts what waits into frames until ctx ends or the stream fails.
func (l *link) send(ctx context.Context, p transport.Peer) error {
	s := p.Checks()
	var f transport.ChecksFrame
	var leases transport.LeasesFrame
	var ends transport.HoldsFrame
	var b []byte
	var sent bool
	var err error
	var r refs
	defer r.release()
	for {
		runtime.Gosched() // callers who were just answered ask again at once: let them, and their checks leave together
		idle := true
		if l.fill(&f, &r) {
			idle = false
			b = transport.AppendChecks(b[:0], &f)
			if err := s.Send(b); err != nil {
				return err
			}
		}
		if l.fillLeases(&leases, &r) {
			idle = false
			b = transport.AppendLeases(b[:0], &leases)
			if err := s.Send(b); err != nil {
				return err
			}
		}
		if b, sent, err = l.sendEnds(s, &ends, b); err != nil {
			return err
		} else if sent {
			idle = false
		}
		if b, sent, err = l.sendWords(s, b); err != nil {
			return err
		} else if sent {
			idle = false
		}
		if idle {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-l.wake:
			}
		}
	}
}

// fill moves what waits into a frame. It is false if nothing does, or the peer has not taken enough of what was sent.
func (l *link) fill(f *transport.ChecksFrame, r *refs) bool {
	f.Epoch = l.node.view.Load().epoch
	f.Limits, f.Checks = f.Limits[:0], f.Checks[:0]
	now := l.node.elapsed()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queued == 0 || l.frames-l.dequeued >= window {
		return false
	}
	sent := 0
	for _, c := range l.queue {
		if len(f.Checks) == maxFrameChecks || len(f.Checks) > 0 && c != nil && r.startsOver(c.group) {
			break
		}
		sent++
		if c == nil {
			continue
		}
		ref, fresh := r.of(c.group)
		if fresh {
			f.Limits = append(f.Limits, r.body(c.group))
		}
		c.check.Number = l.slotLocked(c)
		c.check.Limits = ref
		c.check.Within = max(c.expires-now, 0)
		f.Checks = append(f.Checks, c.check)
	}
	l.compactLocked(sent)
	l.queued -= len(f.Checks)
	l.frames++
	return true
}

// receive takes answers to their callers until the stream ends.
func (l *link) receive(s transport.Stream) error {
	var f transport.AnswersFrame
	var grants transport.GrantsFrame
	var done []*call
	for {
		frame, err := s.Recv()
		if err != nil {
			return err
		}
		if transport.IsGrants(frame) {
			if err := transport.DecodeGrants(frame, &grants); err != nil {
				return err
			}
			for i := range grants.Grants {
				l.node.granted(l, grants.Grants[i].ID, &grants.Grants[i].Answer)
			}
			continue
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
