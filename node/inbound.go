package node

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// Serve answers one stream of another node until it ends. It implements transport.Handler.
func (n *Node) Serve(ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream) error {
	if kind == transport.Bulk {
		return n.serveBulk(from, s)
	}
	ctx, cancel := context.WithCancel(ctx)
	in := &inbound{node: n, from: from.ID, boot: from.Boot, version: from.MaxVersion, stream: s, wake: make(chan struct{}, 1)}
	n.enroll(in)
	in.sender.Go(func() { in.sendLater(ctx) }) // ends with the stream
	err := in.serve()
	cancel()
	n.strike(in)
	in.end()
	return err
}

// inbound is the stream of checks from one other node, at the side that owns their keys.
type inbound struct {
	node    *Node
	from    string
	boot    uint64
	version uint8 // of frames, the highest that the other node speaks
	stream  transport.Stream
	limits  []sentLimits // by the sender's number

	sending sync.Mutex // Send, and what it sends
	answers transport.AnswersFrame
	grants  transport.GrantsFrame
	frame   []byte

	// Checks that were passed on come back in the goroutines of other links, and leases are recalled in any: they must not
	// wait for this stream, and leave what is to be sent here.
	passing sync.Mutex
	passed  []transport.Answer
	recalls []bucket.ID
	wake    chan struct{}
	sender  sync.WaitGroup
}

// sentLimits is a group of limits as it was sent, and interned once there is room for it.
type sentLimits struct {
	version, entry uint64
	limits         []bucket.Limit
	group          *table.Group // or nil
}

// serve decides what comes, one frame at a time, with one look at the clock for each.
func (in *inbound) serve() error {
	var f transport.ChecksFrame
	var leases transport.LeasesFrame
	var ends transport.HoldsFrame
	for {
		frame, err := in.stream.Recv()
		if err != nil {
			return err
		}
		if transport.IsWord(frame) {
			err = in.hear(frame)
		} else if transport.IsHolds(frame) {
			if err = transport.DecodeHolds(frame, &ends); err == nil {
				in.endHolds(&ends)
			}
		} else if transport.IsLeases(frame) {
			if err = transport.DecodeLeases(frame, &leases); err == nil {
				err = in.lend(&leases)
			}
		} else if err = transport.DecodeChecks(frame, &f); err == nil {
			err = in.decide(&f)
		}
		if err != nil {
			return fmt.Errorf("checks from %s: %w", in.from, err)
		}
	}
}

// learn keeps the limits that the sender will call by number.
func (in *inbound) learn(bodies []transport.LimitsBody) error {
	for _, l := range bodies {
		if int(l.Ref) > len(in.limits) {
			return fmt.Errorf("%w: limits %d after %d", transport.ErrFrame, l.Ref, len(in.limits))
		}
		if int(l.Ref) == len(in.limits) {
			in.limits = append(in.limits, sentLimits{})
		}
		kept := &in.limits[l.Ref]
		if kept.group != nil {
			kept.group.Release()
		}
		*kept = sentLimits{version: l.Version, entry: l.Entry, limits: l.Limits}
	}
	return nil
}

// group returns the limits of a number. It is nil if there is no room for them now: as with a full table, the sender's
// failure rule decides.
func (in *inbound) group(ref uint32) (*table.Group, error) {
	if int(ref) >= len(in.limits) {
		return nil, fmt.Errorf("%w: limits %d were never sent", transport.ErrFrame, ref)
	}
	l := &in.limits[ref]
	if l.group == nil {
		if g, err := in.node.limits.InternFor(l.limits, l.version, l.entry); err == nil {
			l.group = g
		}
	}
	return l.group, nil
}

// decide answers a frame with a frame: its checks of owned keys are decided at once, and the others passed on. The
// answer also says that the frame was taken, even if it holds nothing else.
func (in *inbound) decide(f *transport.ChecksFrame) error {
	n := in.node
	if err := in.learn(f.Limits); err != nil {
		return err
	}
	v := n.view.Load()
	now := n.clock.Now()
	in.sending.Lock()
	defer in.sending.Unlock()
	in.answers.Dequeued++
	in.answers.Answers = in.answers.Answers[:0]
	texts := 0
	for i := range f.Checks {
		c := &f.Checks[i]
		g, err := in.group(c.Limits)
		if err != nil {
			return err
		}
		a := transport.Answer{Number: c.Number, Status: transport.Full}
		if g != nil {
			if len(c.Costs) > 0 && len(c.Costs) != len(g.Limits()) {
				return fmt.Errorf("%w: %d costs for %d limits", transport.ErrFrame, len(c.Costs), len(g.Limits()))
			}
			part := n.partitions.Partition(c.ID.Bytes())
			var answered bool
			if a, answered = in.own(c, part, g, now); !answered {
				if in.delay(c, part, g, v) {
					continue
				}
				a = transport.Answer{Number: c.Number, Status: transport.NotOwner}
			}
		}
		in.answers.Answers = append(in.answers.Answers, a)
		if texts += len(a.Entry); texts > maxFrameTexts {
			if err := in.flushLocked(); err != nil {
				return err
			}
			in.answers.Answers, texts = in.answers.Answers[:0], 0
		}
	}
	n.counters.served.Add(uint64(len(f.Checks)))
	if f.Epoch != v.epoch {
		n.counters.otherRing.Add(uint64(len(f.Checks)))
	}
	return in.flushLocked()
}

// maxFrameTexts is how many bytes of entries' texts a frame of answers has before it is sent.
const maxFrameTexts = 256 << 10

// own decides with the bucket in this node's memory. It is false if this node may not decide.
func (in *inbound) own(c *transport.Check, part int, g *table.Group, now bucket.Instant) (a transport.Answer, ok bool) {
	n := in.node
	if v := n.view.Load(); n.governor == nil && v.owner(part) != v.self || !n.hasAuthority(now) {
		return a, false
	}
	a.Number = c.Number
	var d lease.Answered
	var err error
	if c.Hold != (lease.HoldID{}) {
		return in.hold(c, part, g, now)
	}
	switch {
	case c.Look:
		d.Decision, d.Which, err = n.owned.Look(part, c.ID, g, now, c.Cost, c.Costs...)
	case c.Refund:
		d.Decision, d.Which, err = n.owned.Refund(part, c.ID, g, now, c.Cost, c.Costs...)
	default:
		d, err = n.owned.TakeFor(part, c.ID, g, now, table.Asker{Name: in.from, Leases: c.Leases, Demand: c.Demand}, c.Cost, c.Costs...)
	}
	switch {
	case errors.Is(err, table.ErrClosed):
		return a, false
	case err != nil:
		in.fault(&a, err)
		return a, true
	}
	a.Which, a.Decision = uint8(d.Which), d.Decision
	if c.Leases {
		a.Offer, a.Deny = d.Offer, d.Deny
	}
	return a, true
}

// fault makes an answer one that does not decide: the key has other limits, or there is no room for it.
func (in *inbound) fault(a *transport.Answer, err error) {
	if other, ok := errors.AsType[*table.OtherLimits](err); ok {
		a.Status, a.Entry = transport.OtherLimits, other.Text
		in.downgrade(a)
	} else {
		a.Status = transport.Full
	}
}

// downgrade makes an answer one that the sender understands. Who can't be told of other limits has to do without.
func (in *inbound) downgrade(a *transport.Answer) {
	if a.Status == transport.OtherLimits && in.version < transport.EntriesVersion {
		a.Status, a.Entry = transport.NotOwner, ""
	}
}

// delay has a check decided later: by whom this node takes for the owner, or here, when the partition has come. It is
// false if neither will be.
func (in *inbound) delay(c *transport.Check, part int, g *table.Group, v *view) bool {
	owner := v.owner(part)
	switch {
	case owner == v.self || c.Hop == transport.MaxHop:
		gov := in.node.governor // which an outcast waits for in vain
		return gov != nil && !gov.outcast.Load() && in.park(c, part, g)
	case owner == nobody || c.Hop == maxPasses || v.links[owner] == nil:
		return false
	case v.route[part].given: // it waits there, and must not be sent back
		return in.pass(c, g, v.links[owner], transport.MaxHop)
	}
	return in.pass(c, g, v.links[owner], c.Hop+1)
}

// maxPasses is how often a check is passed on by nodes that do not decide for it.
const maxPasses = 2

// hear takes in a message about ownership.
func (in *inbound) hear(frame []byte) error {
	word, err := transport.DecodeWord(frame)
	if err != nil || in.node.governor == nil {
		return err
	}
	return in.node.governor.receive(in.from, word)
}

func (in *inbound) flushLocked() error {
	in.frame = transport.AppendAnswers(in.frame[:0], &in.answers)
	return in.stream.Send(in.frame)
}

// end waits until nothing is sent any more, for the stream is gone when its handler returns.
func (in *inbound) end() {
	in.sender.Wait()
	for _, l := range in.limits {
		if l.group != nil {
			l.group.Release()
		}
	}
}
