package lease

import (
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
)

// rules are the constants of one exploration. What is not named does not happen.
type rules struct {
	name      string
	limits    []bucket.Limit
	ttl       int // of a lease, in ticks
	holders   int
	requests  int       // of each holder, renewals included
	leases    int       // in all; requests that would open more don't arrive
	grant     int       // most tokens in one
	costs     [][]int64 // by state: what a hold may take
	holds     int       // in one purse at a time
	checks    int       // over several keys
	life      int       // of their holds, in ticks
	settles   bool
	crashes   int  // of holders, in all
	window    int  // its length in ticks, with limits that do not refill
	late      int  // ticks in which the owner need not look at its bucket
	resends   bool // of requests, with what is true then
	remembers bool // answers to requests of before may still arrive
	moved     bool // to another owner, at any time
	deep      bool

	post *post
}

// perTick is a limit of r tokens a tick.
func perTick(r, c int64) bucket.Limit { return bucket.Limit{Count: r, Per: tick, Burst: c} }

var (
	tight = []bucket.Limit{perTick(1, 2)}
	small = []bucket.Limit{perTick(1, 3)}
	brisk = []bucket.Limit{perTick(2, 5)}
	pair  = []bucket.Limit{perTick(1, 3), perTick(2, 3)}
	quota = []bucket.Limit{{Burst: 3}} // of a window

	single  = [][]int64{{1}}
	vectors = [][]int64{{1, 1}, {1, 0}, {0, 1}}
	uneven  = [][]int64{{1, 0}}
)

func (r *rules) String() string {
	return fmt.Sprintf("%d holders, %d requests each, %d leases of up to %d for %d ticks, limits %v, window %d, "+
		"late %d, %d crashes, costs %v, %d held in a purse, %d checks over several keys held for %d ticks, settles %v, "+
		"resends %v, remembers %v, moved %v", r.holders, r.requests, r.leases, r.grant, r.ttl, r.limits, r.window, r.late,
		r.crashes, r.costs, r.holds, r.checks, r.life, r.settles, r.resends, r.remembers, r.moved)
}

// sets are the explorations: each is small enough to be complete in seconds, and together they have every kind of
// event. The deep ones combine more of them.
var sets = []rules{
	{name: "lease", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 2},
	{name: "crash", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1, resends: true, crashes: 1},
	{name: "renewals", limits: small, ttl: 3, holders: 1, requests: 3, leases: 1, grant: 1},
	{name: "answers", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1, remembers: true, crashes: 1},
	{name: "brisk", limits: brisk, ttl: 4, holders: 1, requests: 2, leases: 1, grant: 2},
	{name: "late", limits: small, ttl: 3, holders: 1, requests: 2, leases: 1, grant: 2, late: 5},
	{name: "two", limits: small, ttl: 3, holders: 2, requests: 1, leases: 2, grant: 2},
	{name: "three", limits: tight, ttl: 3, holders: 3, requests: 1, leases: 2, grant: 1},
	{name: "purse", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1, costs: single, holds: 1},
	{name: "holds", limits: small, ttl: 3, holders: 1, requests: 2, leases: 1, grant: 2, costs: single, holds: 2},
	{name: "several", limits: small, ttl: 3, holders: 1, requests: 2, leases: 1, grant: 1, costs: single, holds: 1,
		checks: 1, life: 2},
	{name: "checks", limits: small, ttl: 3, holders: 1, requests: 1, leases: 1, grant: 1, costs: single, checks: 2,
		life: 2},
	{name: "settle", limits: small, ttl: 3, holders: 1, requests: 1, leases: 1, grant: 1, costs: single, checks: 1,
		life: 2, settles: true},
	{name: "group", limits: pair, ttl: 3, holders: 1, requests: 2, leases: 1, grant: 1, costs: vectors, holds: 1},
	{name: "vectors", limits: pair, ttl: 3, holders: 1, requests: 1, leases: 1, grant: 1, costs: vectors, checks: 1,
		life: 2},
	{name: "groups", limits: pair, ttl: 3, holders: 2, requests: 1, leases: 2, grant: 1, costs: vectors, holds: 1},
	{name: "window", limits: quota, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1, window: 3},
	{name: "edge", limits: quota, ttl: 3, holders: 1, requests: 1, leases: 1, grant: 1, costs: single, holds: 1,
		checks: 1, life: 2, window: 3},
	{name: "moved", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1, resends: true, crashes: 1,
		moved: true},
	{name: "moved-group", limits: pair, ttl: 3, holders: 1, requests: 2, leases: 1, grant: 1, costs: vectors, holds: 1,
		late: 5, moved: true},
	{name: "moved-checks", limits: pair, ttl: 3, holders: 1, requests: 1, leases: 1, grant: 1, costs: uneven, checks: 1,
		life: 2, settles: true, moved: true},

	{name: "deep-renewals", limits: small, ttl: 3, holders: 1, requests: 3, leases: 2, grant: 2, deep: true},
	{name: "deep-two", limits: small, ttl: 3, holders: 2, requests: 2, leases: 2, grant: 1, deep: true},
	{name: "deep-brisk", limits: brisk, ttl: 4, holders: 2, requests: 1, leases: 2, grant: 2, deep: true},
	{name: "deep-three", limits: small, ttl: 3, holders: 3, requests: 1, leases: 3, grant: 1, deep: true},
	{name: "deep-purse", limits: small, ttl: 3, holders: 1, requests: 3, leases: 2, grant: 1, costs: single, holds: 1,
		resends: true, crashes: 1, deep: true},
	{name: "deep-several", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1, costs: single, holds: 1,
		checks: 2, life: 2, settles: true, deep: true},
	{name: "deep-settle", limits: small, ttl: 3, holders: 1, requests: 2, leases: 1, grant: 1, costs: single, checks: 1,
		life: 2, settles: true, deep: true},
	{name: "deep-edge", limits: quota, ttl: 3, holders: 1, requests: 2, leases: 1, grant: 1, costs: single, holds: 1,
		checks: 1, life: 2, window: 3, deep: true},
	{name: "deep-group", limits: pair, ttl: 3, holders: 2, requests: 1, leases: 2, grant: 2, costs: vectors, holds: 1,
		checks: 1, life: 2, deep: true},
	{name: "deep-vectors", limits: pair, ttl: 3, holders: 1, requests: 2, leases: 1, grant: 1, costs: vectors, checks: 1,
		life: 2, deep: true},
	{name: "deep-window", limits: quota, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1, costs: single, holds: 1,
		checks: 1, life: 2, window: 3, deep: true},
	{name: "deep-late", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 2, costs: single, checks: 1,
		life: 2, late: 5, deep: true},
}
