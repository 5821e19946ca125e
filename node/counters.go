package node

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// where says where a check was decided.
type where uint8

const (
	decidedHere where = iota
	decidedElsewhere
	decidedByRule
	decidedByLease
	decidedByDenyLease
	decidedBySample
	decidedByRedis
	decidedByDenial // of Redis, a moment ago
	decidedByChunk  // fetched from it
	decidedInShadow // beside the check that it was made with
	wheres
)

// counts are the checks of one policy. They are striped by partition: cores that work on different keys seldom meet in
// one, and those that work on the same key meet at its bucket anyhow.
type counts struct {
	stripes [8]stripe
}

// stripe counts by place and verdict, so that one addition is all that a check costs, and no sum ever falls.
type stripe struct {
	decided [wheres]struct{ allowed, denied atomic.Uint64 }
	_       [192 - 16*wheres]byte // whole cache lines
}

// count counts a decision, but for one of several keys: that is counted when it is made.
func (pl *plan) count(q *question, allowed bool, w where) {
	if q.instead {
		w = decidedByRule
	}
	if q.hold != nil {
		q.hold.by = w
		return
	}
	if q.shadow || q.refund { // which only look, or take nothing
		return
	}
	pl.add(q.part, allowed, w)
}

func (pl *plan) add(part int, allowed bool, w where) {
	c := &pl.counts.stripes[part%len(pl.counts.stripes)].decided[w]
	if allowed {
		c.allowed.Add(1)
	} else {
		c.denied.Add(1)
	}
}

// counters are what a node counts besides.
type counters struct {
	served, passed, otherRing                  atomic.Uint64
	passing                                    atomic.Int64 // now
	exempt, noPolicy, missing                  atomic.Uint64
	leasesSent, leasesReceived                 atomic.Uint64
	words, wordBytes, putBytes, short          atomic.Uint64
	debtsDropped, debtsSettled                 atomic.Uint64
	storeDropped, storeSettled                 atomic.Uint64
	savedBytes, unsaved, restored              atomic.Uint64
	faultNotOwner, faultFull, faultUnreachable atomic.Uint64
	otherLimits                                atomic.Uint64
	forwardLatency                             histogram
}

func (c *counters) fault(s transport.Status) {
	switch s {
	case transport.NotOwner:
		c.faultNotOwner.Add(1)
	case transport.Full:
		c.faultFull.Add(1)
	default:
		c.faultUnreachable.Add(1)
	}
}

// histogram counts durations by powers of two, from 16 µs up.
type histogram struct {
	buckets  [histogramBuckets + 1]atomic.Uint64
	sum, max atomic.Int64 // ns
}

const (
	histogramBuckets = 16
	histogramShift   = 14 // 2^14 ns is 16.4 µs
)

func (h *histogram) observe(d time.Duration) {
	h.sum.Add(int64(d))
	for most := h.max.Load(); int64(d) > most && !h.max.CompareAndSwap(most, int64(d)); {
		most = h.max.Load()
	}
	h.buckets[min(bits.Len64(uint64(max(d-1, 0))>>histogramShift), histogramBuckets)].Add(1)
}

// Histogram is a distribution of durations.
type Histogram struct {
	// Count is the number of durations, Sum their total, and Max the longest.
	Count    uint64
	Sum, Max time.Duration
	// Buckets count durations up to and including each bound, cumulatively.
	Buckets map[time.Duration]uint64
}

func (h *histogram) snapshot() Histogram {
	out := Histogram{
		Sum: time.Duration(h.sum.Load()), Max: time.Duration(h.max.Load()),
		Buckets: make(map[time.Duration]uint64, histogramBuckets),
	}
	for i := range h.buckets {
		out.Count += h.buckets[i].Load()
		if i < histogramBuckets {
			out.Buckets[1<<(i+histogramShift)] = out.Count
		}
	}
	return out
}

// Quantile returns a duration that the part q of all were not longer than, q from 0 to 1: the upper bound of a bucket, so
// it is at most twice as long as it need be. It is 0 if there are none.
func (h Histogram) Quantile(q float64) time.Duration {
	need := uint64(math.Ceil(q * float64(h.Count)))
	for i := range histogramBuckets {
		if bound := time.Duration(1) << (i + histogramShift); h.Buckets[bound] >= need {
			return min(bound, h.Max)
		}
	}
	return h.Max
}

// Stats is what a node has counted since it was made, and how it stands.
type Stats struct {
	// Policies has the checks by policy, sorted by name; those with limits of their own stand last, as "(inline)".
	Policies []PolicyStats
	// Exempt counts the checks that were exempt from limits, or of a policy that does not limit them, NoPolicy those that no policy was
	// for, MissingKey those that were denied because they lacked a part of a key. They are in no policy's counts.
	Exempt, NoPolicy, MissingKey uint64
	// Edition is the number of the edition of the policies that applies, 0 if none does. PolicyChanges counts how often other policies
	// were put in place, and PoliciesRefused how often they were wrong, or could not be had from where the node's own come from.
	Edition                        uint64
	PolicyChanges, PoliciesRefused uint64
	// Served counts checks that came from other nodes; OtherRing those of them that came by another ring than this node's,
	// Passed those passed on for that reason.
	Served, OtherRing, Passed uint64
	// Faults counts forwarded checks that a failure rule had to decide: the peer knew no owner it may ask, the owner's
	// table was full, or there was no answer in time.
	FaultNotOwner, FaultFull, FaultUnreachable uint64
	// OtherLimits counts how often owners have said that a key has limits of its own, or none any more, that a check did not come with.
	OtherLimits uint64
	// DebtsOpen is the number of buckets that are owed what a failure rule has admitted here.
	DebtsOpen int
	// Ownership is about who decides for what, and how that changes.
	Ownership OwnershipStats
	// ByRule counts the checks that failure rules decided, by the rule of the limit that spoke.
	ByRule RuleStats
	// DebtsSettled buckets were charged by their owners for what failure rules had admitted here, DebtsDropped never will
	// be: too many were open.
	DebtsSettled, DebtsDropped uint64
	// Strict is about limits that Redis decides.
	Strict StrictStats
	// Durable is about limits that outlive the end of all nodes.
	Durable DurableStats
	// Purses is the number of groups of other owners that this node has a lease or a deny lease of.
	Purses int
	// LeaseRequestsSent are renewals, returns, first requests and repeated ones that it sent to owners,
	// LeaseRequestsReceived those that came from others.
	LeaseRequestsSent, LeaseRequestsReceived uint64
	// ForwardLatency is how long forwarded checks took.
	ForwardLatency Histogram
	// Table holds the owned buckets, LocalTable those of failure rules.
	Table, LocalTable table.Stats
	// Limits is the number of different groups of limits in memory.
	Limits int
	// Epoch names the ring; Members are in it, OwnedPartitions of Partitions are this node's.
	Epoch                                uint64
	Members, Partitions, OwnedPartitions int
	// LinksUp is how many of the other members are connected.
	LinksUp int
}

// DurableStats is about the disk: SavedBytes of groups were written, Unsaved times they could not be, and Restored groups were read when
// nobody had them in memory.
type DurableStats struct{ SavedBytes, Unsaved, Restored uint64 }

// StrictStats is what is owed to Redis, of what was admitted while it could not be asked: DebtsOpen groups are. Settled debits were charged,
// and what was admitted of Dropped checks never will be, for too many groups were owed.
type StrictStats struct {
	DebtsOpen        int
	Settled, Dropped uint64
}

// RuleStats are checks that failure rules decided: by shares of limits, by denying, and by allowing.
type RuleStats struct{ Local, Deny, Allow uint64 }

// PolicyStats are the checks made at this node by one policy.
type PolicyStats struct {
	Policy          string
	Allowed, Denied uint64
	// Own of them were decided here, by the owner of the key; Lease here as well, with tokens that the owner lent,
	// DenyLease by its word that there are none for a while, and Sample by the verdict on a check before. Forwarded ones
	// were decided by another node, Redis ones by Redis, RedisDenial ones by what that had denied a moment before,
	// Prefetched ones by what was fetched from it, and ByRule ones by a failure rule. Together they are all.
	Own, Lease, DenyLease, Sample, Forwarded, Redis, RedisDenial, Prefetched, ByRule uint64
	// ShadowAllowed and ShadowDenied are what limits in shadow mode said of checks that were admitted. They come on top.
	ShadowAllowed, ShadowDenied uint64
}

// InlineName stands for the policy in the counts of requests that brought their own limit.
const InlineName = "(inline)"

func (c *counts) snapshot(name string) PolicyStats {
	p := PolicyStats{Policy: name}
	sums := [wheres]*uint64{
		decidedHere: &p.Own, decidedElsewhere: &p.Forwarded, decidedByRule: &p.ByRule,
		decidedByLease: &p.Lease, decidedByDenyLease: &p.DenyLease, decidedBySample: &p.Sample,
		decidedByRedis: &p.Redis, decidedByDenial: &p.RedisDenial, decidedByChunk: &p.Prefetched,
	}
	for i := range c.stripes {
		for w := range sums {
			s := &c.stripes[i].decided[w]
			allowed, denied := s.allowed.Load(), s.denied.Load()
			if where(w) == decidedInShadow {
				p.ShadowAllowed += allowed
				p.ShadowDenied += denied
				continue
			}
			p.Allowed += allowed
			p.Denied += denied
			*sums[w] += allowed + denied
		}
	}
	return p
}

// Stats returns the counts. Safe for concurrent use.
func (n *Node) Stats() Stats {
	v := n.view.Load()
	c := &n.counters
	s := Stats{
		Exempt: c.exempt.Load(), NoPolicy: c.noPolicy.Load(), MissingKey: c.missing.Load(),
		Served: c.served.Load(), OtherRing: c.otherRing.Load(), Passed: c.passed.Load(),
		FaultNotOwner: c.faultNotOwner.Load(), FaultFull: c.faultFull.Load(), FaultUnreachable: c.faultUnreachable.Load(),
		OtherLimits: c.otherLimits.Load(),
		DebtsOpen:   int(n.debts.count.Load()), DebtsSettled: c.debtsSettled.Load(), DebtsDropped: c.debtsDropped.Load(),
		Strict:            StrictStats{int(n.storeDebts.count.Load()), c.storeSettled.Load(), c.storeDropped.Load()},
		Durable:           DurableStats{c.savedBytes.Load(), c.unsaved.Load(), c.restored.Load()},
		Purses:            int(n.purses.count.Load()),
		LeaseRequestsSent: c.leasesSent.Load(), LeaseRequestsReceived: c.leasesReceived.Load(),
		ForwardLatency: c.forwardLatency.snapshot(),
		Table:          n.owned.Stats(), LocalTable: n.local.Stats(), Limits: n.limits.Len(),
		Epoch: v.epoch, Members: len(v.members), Partitions: n.cfg.Ring.Partitions, OwnedPartitions: v.ownedPartitions(),
	}
	if e := n.editions.newest.Load(); e != nil && !e.Withdrawn {
		s.Edition = e.Number
	}
	s.PolicyChanges, s.PoliciesRefused = n.editions.changes.Load(), n.editions.refused.Load()
	s.Ownership = n.ownershipStats()
	s.ByRule = RuleStats{
		Local: n.byRule[policy.UnreachableLocal].Load(), Deny: n.byRule[policy.UnreachableDeny].Load(),
		Allow: n.byRule[policy.UnreachableAllow].Load(),
	}
	for _, l := range v.links {
		if l != nil && l.isUp() {
			s.LinksUp++
		}
	}
	n.counting.Lock()
	for name, c := range n.countsBy {
		s.Policies = append(s.Policies, c.snapshot(name))
	}
	n.counting.Unlock()
	slices.SortFunc(s.Policies, func(a, b PolicyStats) int { return strings.Compare(a.Policy, b.Policy) })
	s.Policies = append(s.Policies, n.inlineCounts.snapshot(InlineName))
	return s
}
