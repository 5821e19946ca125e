package node

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/node/ownership"
	"github.com/drossel-dev/drossel/transport"
)

// debts are what this node has admitted by its shares and not charged yet to the buckets themselves, by partition. The
// zero debts is ready for use.
type debts struct {
	mu     sync.Mutex
	byPart map[int]*account
	owed   int // entries
	count  atomic.Int64
}

// account is what is owed in one partition.
type account struct {
	seq  uint64
	open map[owedTo][]int64 // tokens of each limit
	bill []owed             // under way, under seq; the same again and again until it is settled
}

type owedTo struct {
	id    bucket.ID
	group *table.Group // pinned
}

type owed struct {
	owedTo
	tokens []int64
}

const (
	// maxOwed bounds the buckets that are owed something. More is admitted all the same, and not charged.
	maxOwed        = 1 << 17
	settleInterval = 200 * time.Millisecond
	settleTimeout  = time.Second
)

// owe notes what a failure rule has admitted: of every limit as many tokens, or as many as each says.
func (n *Node) owe(part int, id bucket.ID, g *table.Group, tokens int64, each ...int64) {
	if n.governor == nil || tokens == 0 {
		return
	}
	d := &n.debts
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byPart == nil {
		d.byPart = make(map[int]*account)
	}
	a := d.byPart[part]
	if a == nil {
		a = &account{open: make(map[owedTo][]int64)}
		d.byPart[part] = a
	}
	to := owedTo{id, g}
	sum, known := a.open[to]
	if !known && d.owed < maxOwed {
		sum = make([]int64, len(g.Limits()))
	}
	for i := range sum {
		if len(each) > 0 {
			tokens = each[i]
		}
		sum[i] = min(sum[i]+tokens, bucket.MaxTokens)
	}
	if known {
		return
	}
	if d.owed >= maxOwed {
		n.counters.debtsDropped.Add(1)
		return
	}
	g.Pin()
	a.open[to] = sum
	d.owed++
	d.count.Store(int64(d.owed))
}

// settle charges what is owed until ctx ends, to whoever decides.
func (n *Node) settle(ctx context.Context) {
	ticks := time.NewTicker(settleInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if n.debts.count.Load() > 0 {
			n.settleOnce(ctx)
		}
	}
}

func (n *Node) settleOnce(ctx context.Context) {
	v := n.view.Load()
	bills := make(map[int][]transport.Bill) // by owner
	for _, b := range n.debts.bills() {
		if owner := v.owner(b.Partition); owner >= 0 {
			bills[owner] = append(bills[owner], b)
		}
	}
	var asking sync.WaitGroup
	for owner, some := range bills {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, settleTimeout)
			defer cancel()
			n.present(ctx, v, owner, some)
		})
	}
	asking.Wait()
}

// present brings bills to one node, which may be this one.
func (n *Node) present(ctx context.Context, v *view, owner int, bills []transport.Bill) {
	l := v.links[owner]
	for i := range bills {
		b := &bills[i]
		var settled bool
		switch {
		case owner == v.self:
			settled = n.governor.settleBill(n.debtor(n.name, n.boot), b)
		case l != nil:
			if l.speaksBefore(transport.EntriesVersion) {
				for j := range b.Limits {
					b.Limits[j].Entry = 0
				}
			}
			reply, err := l.bulk.call(ctx, transport.Settle, transport.AppendBill(nil, b))
			settled = err == nil && len(reply) == 1 && reply[0] == 1
		}
		if settled {
			n.debts.paid(b.Partition, b.Seq)
			n.counters.debtsSettled.Add(uint64(len(b.Debts)))
		}
	}
}

func (n *Node) debtor(id string, boot uint64) string { return id + "#" + strconv.FormatUint(boot, 36) }

// bills returns those that are to be settled. A bill is the same until it is.
func (d *debts) bills() (all []transport.Bill) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for part, a := range d.byPart {
		if len(a.bill) == 0 && len(a.open) == 0 {
			continue // the account stays, for its number must not begin again
		}
		if len(a.bill) == 0 {
			a.seq++
			for to, tokens := range a.open {
				if len(a.bill) == transport.MaxDebts {
					break
				}
				a.bill = append(a.bill, owed{to, tokens})
				delete(a.open, to)
			}
		}
		b := transport.Bill{Partition: part, Seq: a.seq}
		refs := make(map[*table.Group]uint32)
		for _, o := range a.bill {
			ref, ok := refs[o.group]
			if !ok {
				ref = uint32(len(refs))
				refs[o.group] = ref
				b.Limits = append(b.Limits, transport.LimitsBody{
					Ref: ref, Version: o.group.Version(), Entry: o.group.Entry(), Limits: o.group.Limits(),
				})
			}
			b.Debts = append(b.Debts, transport.Debt{ID: o.id, Limits: ref, Costs: o.tokens})
		}
		all = append(all, b)
	}
	return all
}

// paid forgets a bill that was settled.
func (d *debts) paid(part int, seq uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.byPart[part]
	if a == nil || a.seq != seq {
		return
	}
	for _, o := range a.bill {
		o.group.Release()
	}
	d.owed -= len(a.bill)
	d.count.Store(int64(d.owed))
	a.bill = nil
}

// settleBills answers a call by which another node settles its debts: with 1 for each bill that has been charged, now or
// before, and 0 for those of partitions that are not decided here.
func (g *governor) settleBills(from transport.Hello, body []byte) ([]byte, error) {
	bills, err := transport.DecodeBills(body)
	if err != nil {
		return nil, err
	}
	reply := make([]byte, len(bills))
	for i := range bills {
		if bills[i].Partition >= len(g.estates) {
			return nil, fmt.Errorf("%w: a bill for partition %d of %d", ownership.ErrMessage, bills[i].Partition, len(g.estates))
		}
		if g.settleBill(g.node.debtor(from.ID, from.Boot), &bills[i]) {
			reply[i] = 1
		}
	}
	return reply, nil
}

// settleBill charges a bill if it was not charged before; false if this node does not decide for its partition.
func (g *governor) settleBill(debtor string, b *transport.Bill) bool {
	n := g.node
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.machine.Holds(b.Partition) || !g.estates[b.Partition].open || n.timer.Now() >= g.machine.Authority() {
		return false
	}
	if !g.shelves[held].settled[b.Partition].news(debtor, b.Seq) {
		return true
	}
	groups := make(map[uint32]*table.Group)
	for _, l := range b.Limits {
		if group, err := n.limits.InternFor(l.Limits, l.Version, l.Entry); err == nil {
			groups[l.Ref] = group
			defer group.Release()
		}
	}
	now := n.clock.Now()
	for _, d := range b.Debts {
		if group := groups[d.Limits]; group != nil && len(d.Costs) == len(group.Limits()) {
			if err := n.owned.Debit(b.Partition, d.ID, group, now, slices.Max(d.Costs), d.Costs...); err != nil {
				n.log.Warn("what was admitted elsewhere by a failure rule could not be charged", "error", err)
			}
		}
	}
	return true
}
