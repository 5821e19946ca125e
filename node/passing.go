package node

import (
	"context"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// passMargin is what a check that is passed on leaves for the way back.
const passMargin = time.Millisecond

// pass sends a check on to whom this node takes for the owner: the sender has not heard of it yet. It happens twice to a
// check at the most, so nodes that disagree do not play ball with it.
func (in *inbound) pass(c *transport.Check, g *table.Group, l *link, hop uint8) bool {
	if c.Within <= passMargin || g.Entry() != 0 && l.speaksBefore(transport.EntriesVersion) || c.Refund && l.speaksBefore(transport.RefundsVersion) {
		return false
	}
	out := in.node.newCall()
	out.relay, out.relayNumber, out.to, out.group = in, c.Number, l.member.ID, g
	out.begun = in.node.elapsed()
	out.expires = out.begun + c.Within - passMargin
	out.check = transport.Check{ID: c.ID, Cost: c.Cost, Costs: c.Costs, Hold: c.Hold, Life: c.Life, Look: c.Look, Refund: c.Refund, Hop: hop}
	in.node.counters.passing.Add(1)
	if !l.enqueue(out) {
		in.node.counters.passing.Add(-1)
		out.recycle()
		return false
	}
	in.node.counters.passed.Add(1)
	return true
}

// relayed takes the answer to a check that was passed on.
func (in *inbound) relayed(c *call) {
	a := c.answer
	a.Number = c.relayNumber
	if a.Status == transport.Decided && a.By == "" {
		a.By = c.to
	}
	c.recycle()
	in.downgrade(&a)
	in.later(a)
	in.node.counters.passing.Add(-1)
}

// later has an answer sent that comes in another goroutine than the stream's.
func (in *inbound) later(a transport.Answer) {
	in.passing.Lock()
	in.passed = append(in.passed, a)
	in.passing.Unlock()
	in.signal()
}

func (in *inbound) signal() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// sendLater sends what others leave to be sent, until ctx ends.
func (in *inbound) sendLater(ctx context.Context) {
	var batch []transport.Answer
	var recalls []bucket.ID
	for {
		select {
		case <-ctx.Done():
			return
		case <-in.wake:
		}
		in.passing.Lock()
		batch, in.passed = in.passed, batch[:0]
		recalls, in.recalls = in.recalls, recalls[:0]
		in.passing.Unlock()
		for part := range slices.Chunk(recalls, transport.MaxGrants) {
			in.sending.Lock()
			in.grants.Grants = in.grants.Grants[:0]
			for _, id := range part {
				in.grants.Grants = append(in.grants.Grants, transport.Grant{ID: id, Answer: lease.Answer{Recall: true}})
			}
			err := in.sendGrantsLocked()
			in.sending.Unlock()
			if err != nil {
				return
			}
		}
		for rest := batch; len(rest) > 0; {
			n, texts := 0, 0
			for n < min(len(rest), maxFrameChecks) && texts <= maxFrameTexts {
				texts += len(rest[n].Entry)
				n++
			}
			in.sending.Lock()
			in.answers.Answers = append(in.answers.Answers[:0], rest[:n]...)
			err := in.flushLocked()
			in.sending.Unlock()
			rest = rest[n:]
			if err != nil {
				return // the stream is broken; serve finds out as well
			}
		}
	}
}
