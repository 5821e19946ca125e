package table

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
)

// TestTransfer moves a partition in use from node to node, as its owner would: a full copy, what has changed since, a
// last bit when it is closed. Nothing is lost on the way, whoever borrowed, and no more is admitted than ever.
func TestTransfer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rules := []bucket.OwnerLoss{bucket.LossReplica, bucket.LossEmpty, bucket.LossFull}
		c := newCluster(rt, t, drawLimits(rt, rules...), drawLimits(rt, rules...), drawLimits(rt, rules...))
		for range rapid.IntRange(1, 3).Draw(rt, "moves") {
			c.steps(40)
			c.transfer(rapid.SampledFrom([]int{1, 60, 1 << 19}).Draw(rt, "maxBytes"))
		}
		c.steps(40)
		c.drain()
		c.spendAll()
		for key := range c.groups {
			if n := c.worst(key); n > 0 {
				rt.Fatalf("key %d of %v: %d more admitted than allowed", key, c.groups[key].Limits(), n)
			}
		}
	})
}

func (c *cluster) steps(most int) {
	for range rapid.IntRange(0, most).Draw(c.T, "steps") {
		c.step()
	}
}

// transfer gives the partition to the other node.
func (c *cluster) transfer(maxBytes int) {
	c.other.Clear(clusterPart)
	c.at.Track(clusterPart, true)
	c.copyOf(c.at.IDs(clusterPart, nil), maxBytes)
	for range rapid.IntRange(0, 2).Draw(c.T, "rounds") {
		c.steps(20)
		c.copyOf(c.at.Changed(clusterPart, nil), maxBytes)
	}
	c.steps(20)
	c.at.Close(clusterPart)
	c.copyOf(c.at.Changed(clusterPart, nil), maxBytes)
	c.sameGroups()
	c.at, c.other = c.other, c.at
	c.epoch++
	c.at.Open(clusterPart, c.epoch)
}

// sameGroups wants both nodes to have the same in the partition.
func (c *cluster) sameGroups() {
	for key, g := range c.groups {
		mine, theirs := c.contents(c.at, key), c.contents(c.other, key)
		if mine != theirs {
			c.Fatalf("key %d of %v at %v:\n%s is\n%s at the other node", key, g.Limits(), time.Duration(c.now), mine, theirs)
		}
	}
}

// contents says what a node has of a key: the same for a group that is as good as new and one that is not there, and
// for a lender with nothing out and none.
func (c *cluster) contents(at *Table, key int) string {
	p, g := &at.parts[clusterPart], c.groups[key]
	s := p.slab(len(g.Limits()))
	if s == nil {
		return "nothing"
	}
	w := s.find(idOf(uint64(key)))
	if w == nil {
		return "nothing"
	}
	at.refill(p, w, g, c.now)
	ledger := ""
	if isHot(w[2]) {
		if l := p.hot.at[place(w[2])]; !l.Idle(c.now) {
			ledger = fmt.Sprintf(", ledger %x", l.AppendLedger(nil, c.now))
		}
	}
	var room [MaxStates]bucket.State
	all := at.take(p, w, g, &room)
	if ledger == "" {
		all.Refill(c.now, 0)
		put(w, all.States)
		if at.asNew(p, g, &all, c.now) {
			return "nothing"
		}
	}
	levels := ""
	for i := range all.States {
		levels += fmt.Sprintf("%x ", all.AppendState(nil, i, c.now))
	}
	return levels + ledger
}
