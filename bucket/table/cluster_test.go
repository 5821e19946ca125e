package table

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// cluster is one partition that two nodes have in turn, holders that borrow, and an oracle that sees all admissions.
type cluster struct {
	*rapid.T
	limits  *Limits
	groups  []*Group // by key
	at      *Table   // where the partition is open
	other   *Table
	now     bucket.Instant
	epoch   uint64
	holders []*holder
	// ideal is what one bucket for each limit of each key would hold; below zero, too much was admitted.
	ideal [][]bucket.State
}

// holder borrows from one group.
type holder struct {
	lease.Purse
	name string
	key  int
	seq  uint64
}

const clusterPart = 1

// newCluster has as many keys as limits, none used yet.
func newCluster(t *rapid.T, tb testing.TB, limits ...[]bucket.Limit) *cluster {
	c := &cluster{T: t, limits: NewLimits(100), now: 100 * second, epoch: 1}
	for _, table := range []**Table{&c.at, &c.other} {
		made, err := New(2, 1<<20, c.limits, Lending{Epoch: 1})
		if err != nil {
			t.Fatal(err)
		}
		*table = made
	}
	c.other.Close(clusterPart)
	for key, l := range limits {
		g := intern(tb, c.limits, l...)
		c.groups = append(c.groups, g)
		var full []bucket.State
		for _, l := range g.Limits() {
			full = append(full, bucket.Full(&l, c.now))
		}
		c.ideal = append(c.ideal, full)
		for i := range 2 {
			c.holders = append(c.holders, &holder{name: fmt.Sprint("holder-", i), key: key})
		}
	}
	return c
}

// drawLimits draws one or two limits, by those rules for the loss of an owner, that are lent from if one holds enough.
func drawLimits(t *rapid.T, rules ...bucket.OwnerLoss) (limits []bucket.Limit) {
	for range rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "limits") {
		limits = append(limits, bucket.Limit{
			Count:     rapid.SampledFrom([]int64{0, 1, 20, 100, 1000}).Draw(t, "count"),
			Per:       time.Second,
			Burst:     rapid.SampledFrom([]int64{5, 40, 100, 400}).Draw(t, "burst"),
			OwnerLoss: rapid.SampledFrom(rules).Draw(t, "rule"),
		})
	}
	return limits
}

func (c *cluster) wait(most time.Duration) {
	c.now += bucket.Instant(rapid.Int64Range(0, int64(most)).Draw(c.T, "wait"))
}

// admitted tells the oracle.
func (c *cluster) admitted(key int, cost int64) {
	for i, l := range c.groups[key].Limits() {
		s := &c.ideal[key][i]
		s.Refill(&l, c.now)
		s.Tokens -= cost
	}
}

// worst is by how much more was admitted for a key than its limits allow.
func (c *cluster) worst(key int) (worst int64) {
	for _, s := range c.ideal[key] {
		worst = max(worst, -s.Tokens)
	}
	return worst
}

// step does one thing that happens to keys in use.
func (c *cluster) step() {
	key := rapid.IntRange(0, len(c.groups)-1).Draw(c.T, "key")
	id, g := idOf(uint64(key)), c.groups[key]
	h := c.holders[2*key+rapid.IntRange(0, 1).Draw(c.T, "holder")]
	cost := rapid.SampledFrom([]int64{0, 1, 1, 3, 30}).Draw(c.T, "cost")
	switch rapid.IntRange(0, 7).Draw(c.T, "what") {
	case 0:
		c.wait(100 * time.Millisecond)
	case 1:
		c.wait(2 * time.Second)
	case 2:
		d, _, err := c.at.Take(clusterPart, id, g, c.now, cost)
		c.decided(key, cost, d, err)
	case 3:
		for range 40 { // so that it becomes hot
			a, err := c.at.TakeFor(clusterPart, id, g, c.now, Asker{Name: h.name, Leases: true}, 1)
			c.decided(key, 1, a.Decision, err)
		}
	case 4:
		h.renew(c)
	case 5:
		h.spend(c, cost)
	case 6:
		if r, ok := h.Close(c.now); ok {
			c.at.Lend(clusterPart, id, g, c.now, h.name, r)
		}
	case 7:
		c.at.Sweep(clusterPart, c.now)
		c.other.Sweep(clusterPart, c.now)
		c.other.Cool(clusterPart, c.now)
	}
}

func (c *cluster) decided(key int, cost int64, d bucket.Decision, err error) {
	if err != nil {
		c.Fatal(err)
	}
	if d.Allowed {
		c.admitted(key, cost)
	}
}

func (h *holder) renew(c *cluster) {
	if _, waiting := h.Waiting(); waiting {
		h.GiveUp()
	}
	h.seq++
	r := h.Ask(c.now, lease.Number{Incarnation: 1, Seq: h.seq})
	r.Demand = lease.Demand{Tokens: 1000, Checks: 1000}
	if a, ok, err := c.at.Lend(clusterPart, idOf(uint64(h.key)), c.groups[h.key], c.now, h.name, r); err != nil {
		c.Fatal(err)
	} else if ok && rapid.IntRange(0, 3).Draw(c.T, "arrives") > 0 {
		h.Accept(c.now, &a)
	}
}

func (h *holder) spend(c *cluster, cost int64) {
	if h.Spend(c.now, cost) {
		c.admitted(h.key, cost)
	}
}

// spendAll has every holder spend what it may still spend, which is the worst that it can do.
func (c *cluster) spendAll() {
	for _, h := range c.holders {
		h.spend(c, h.Left(c.now))
	}
}

// drain takes from every key whatever there is.
func (c *cluster) drain() {
	for key, g := range c.groups {
		id := idOf(uint64(key))
		d, _, err := c.at.Look(clusterPart, id, g, c.now, 0)
		if err != nil {
			c.Fatal(err)
		}
		d, _, err = c.at.Take(clusterPart, id, g, c.now, d.Remaining)
		c.decided(key, d.Remaining, d, err)
	}
}

// copyTo brings the other node's copy up to date with so many of the groups as have changed.
func (c *cluster) copyOf(ids []bucket.ID, maxBytes int) {
	for first := true; first || len(ids) > 0; first = false {
		blob, taken := c.at.Export(clusterPart, ids, c.now, nil, maxBytes)
		if err := c.other.Import(clusterPart, blob, c.now); err != nil {
			c.Fatal(err)
		}
		ids = ids[taken:]
	}
}

// sorted are ids once each, in an order.
func sorted(ids []bucket.ID) []bucket.ID {
	slices.SortFunc(ids, func(a, b bucket.ID) int {
		if a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo {
			return -1
		}
		if a == b {
			return 0
		}
		return 1
	})
	return slices.Compact(ids)
}
