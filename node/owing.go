package node

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
)

// storeDebts are what was admitted here while Redis could not be asked, and not charged there yet. The zero value is ready for use.
type storeDebts struct {
	mu    sync.Mutex
	byID  map[bucket.ID]*storeDebt
	count atomic.Int64 // of groups
}

// storeDebt is what is owed of one group.
type storeDebt struct {
	plan   *plan
	limits []bucket.Limit // as divided
	sum    []int64        // of what Redis was not asked for, or has said that it was not done
	unsure []storeBill    // takes that may have been done
	bill   storeBill      // a part of sum that is under way: the same until it is settled
}

// storeBill is a debit with its number; 0 is none.
type storeBill struct {
	number uint64
	costs  []int64
}

// maxUnsure bounds the takes of a group that were not answered and are owed one by one.
const maxUnsure = 1024

// oweStore notes what was admitted in place of Redis, which op may have taken after all.
func (n *Node) oweStore(pl *plan, op strictOp, costs []int64) {
	id := op.shard.id
	ds := &n.storeDebts
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.byID == nil {
		ds.byID = make(map[bucket.ID]*storeDebt)
	}
	d := ds.byID[id]
	switch {
	case d == nil && len(ds.byID) >= maxOwed:
		n.ops.end(id, op.number)
		n.counters.storeDropped.Add(1)
		return
	case d == nil:
		d = &storeDebt{plan: pl, limits: op.shard.limits, sum: make([]int64, len(costs))}
		ds.byID[id] = d
		ds.count.Store(int64(len(ds.byID)))
	case d.plan != pl: // what is owed goes by the limits that are now
		d.turn(pl, op.shard.limits)
	}
	if op.number != 0 && len(d.unsure) < maxUnsure {
		d.unsure = append(d.unsure, storeBill{op.number, costs})
		return
	}
	n.ops.end(id, op.number)
	add(d.sum, costs)
}

func add(sum, costs []int64) {
	for i, c := range costs {
		sum[i] = min(sum[i]+c, bucket.MaxTokens)
	}
}

// turn makes a debt one by other limits: of those with the same tags.
func (d *storeDebt) turn(pl *plan, limits []bucket.Limit) {
	was := d.limits
	move := func(costs []int64) []int64 {
		out := make([]int64, len(limits))
		for i := range out {
			for j := range costs {
				if was[j].Tag == limits[i].Tag {
					out[i] = costs[j]
				}
			}
		}
		return out
	}
	d.sum = move(d.sum)
	for i := range d.unsure {
		d.unsure[i].costs = move(d.unsure[i].costs)
	}
	if d.bill.number != 0 {
		d.bill.costs = move(d.bill.costs)
	}
	d.plan, d.limits = pl, limits
}

// settleStore charges in Redis what is owed there, until ctx ends.
func (n *Node) settleStore(ctx context.Context) {
	ticks := time.NewTicker(settleInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if n.storeDebts.count.Load() > 0 {
			n.settleStoreOnce(ctx)
		}
	}
}

// storeSettlers is how many groups are charged at the same time.
const storeSettlers = 16

func (n *Node) settleStoreOnce(ctx context.Context) {
	ds := &n.storeDebts
	ids := make(chan bucket.ID)
	var settlers sync.WaitGroup
	for range storeSettlers {
		settlers.Go(func() {
			for id := range ids {
				for ctx.Err() == nil && n.settleOne(ctx, id) {
				}
			}
		})
	}
	ds.mu.Lock()
	all := make([]bucket.ID, 0, len(ds.byID))
	for id := range ds.byID {
		all = append(all, id)
	}
	ds.mu.Unlock()
	for _, id := range all {
		ids <- id
	}
	close(ids)
	settlers.Wait()
}

// settleOne charges one debit of a group. It is true if there are others to be charged now.
func (n *Node) settleOne(ctx context.Context, id bucket.ID) bool {
	a, bill, ok := n.storeBill(id)
	if !ok {
		return false
	}
	asking, done := context.WithTimeout(ctx, settleTimeout)
	defer done()
	if _, err := n.cfg.Strict.Ask(asking, a); err != nil {
		n.log.Debug("what was admitted while redis could not be asked is not charged yet", "policy", a.Policy, "error", err)
		return false
	}
	n.counters.storeSettled.Add(1)
	return n.storePaid(id, bill)
}

// storeBill returns what is to be charged of a group next.
func (n *Node) storeBill(id bucket.ID) (a *redis.Ask, number uint64, ok bool) {
	ds := &n.storeDebts
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d := ds.byID[id]
	if d == nil {
		return nil, 0, false
	}
	s := &d.plan.strictness
	a = &redis.Ask{
		Do: redis.Debit, Policy: d.plan.name, ID: id, Limits: d.limits, Approximate: s.Approximate, Replicas: s.WaitReplicas,
	}
	switch {
	case len(d.unsure) > 0:
		a.Costs, number = d.unsure[0].costs, d.unsure[0].number
	default:
		if d.bill.number == 0 {
			d.bill = storeBill{n.ops.begin(id, n.asker).Number, d.sum}
			d.sum = make([]int64, len(d.sum))
		}
		a.Costs, number = d.bill.costs, d.bill.number
	}
	a.Op = n.ops.again(id, n.asker, number)
	return a, number, true
}

// storePaid forgets what was charged; more says that there is more.
func (n *Node) storePaid(id bucket.ID, number uint64) (more bool) {
	ds := &n.storeDebts
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d := ds.byID[id]
	if d == nil {
		return false
	}
	if len(d.unsure) > 0 && d.unsure[0].number == number {
		d.unsure = d.unsure[1:]
	} else if d.bill.number == number {
		d.bill = storeBill{}
	}
	n.ops.end(id, number)
	more = len(d.unsure) > 0 || d.bill.number != 0
	for _, c := range d.sum {
		more = more || c > 0
	}
	if !more {
		delete(ds.byID, id)
		ds.count.Store(int64(len(ds.byID)))
	}
	return more
}
