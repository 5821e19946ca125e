package lease

import (
	"flag"
	"math"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

var deep = flag.Bool("lease.deep", false, "TestModel: explore the large sets of rules as well, for many minutes")

// rules are the constants of one exploration. What is not named does not happen.
type rules struct {
	name      string
	limits    []bucket.Limit
	ttl       int // of a lease, in ticks
	holders   int
	requests  int // of each holder, renewals included
	leases    int // in all; requests that would open more don't arrive
	grant     int // most tokens in one
	vectors   [][]int64
	holds     int // of one purse at a time, each of one of the vectors
	checks    int // over several keys, each at one of the vectors
	life      int // of their holds, in ticks
	settles   bool
	mayCrash  int
	window    int  // its length in ticks, with limits that do not refill
	late      int  // ticks in which the owner need not look at its bucket
	resends   bool // of requests, with what is true then
	remembers bool // answers to requests of before may still arrive
	deep      bool

	post *post
}

// perTick is a limit of r tokens a tick.
func perTick(r, c int64) bucket.Limit { return bucket.Limit{Count: r, Per: tick, Burst: c} }

var (
	single = [][]int64{{1}}
	pairs  = [][]int64{{1, 1}, {1, 0}, {0, 1}}
)

var (
	small = []bucket.Limit{perTick(1, 3)}
	brisk = []bucket.Limit{perTick(2, 5)}
	group = []bucket.Limit{perTick(1, 3), perTick(2, 3)}
	quota = []bucket.Limit{{Burst: 3}}
)

var sets = []rules{
	{name: "lease", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 2},
	{name: "leaseR", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1, resends: true, mayCrash: 1},
	{name: "three", limits: small, ttl: 3, holders: 1, requests: 3, leases: 2, grant: 1},
	{name: "threeL1", limits: small, ttl: 3, holders: 1, requests: 3, leases: 1, grant: 2},
	{name: "two", limits: small, ttl: 3, holders: 2, requests: 1, leases: 2, grant: 2},
	{name: "two2", limits: small, ttl: 3, holders: 2, requests: 2, leases: 2, grant: 1},
	{name: "H3", limits: small, ttl: 3, holders: 3, requests: 1, leases: 3, grant: 1},
	{name: "brisk", limits: brisk, ttl: 4, holders: 1, requests: 2, leases: 1, grant: 2},
	{name: "purse", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1,
		vectors: single, holds: 1},
	{name: "purse2", limits: small, ttl: 3, holders: 1, requests: 1, leases: 1, grant: 2,
		vectors: single, holds: 2},
	{name: "several", limits: small, ttl: 3, holders: 1, requests: 1, leases: 1, grant: 1,
		vectors: single, checks: 1, life: 2},
	{name: "several2", limits: small, ttl: 3, holders: 1, requests: 1, leases: 1, grant: 1,
		vectors: single, checks: 2, life: 2},
	{name: "severalp", limits: small, ttl: 3, holders: 1, requests: 1, leases: 1, grant: 1,
		vectors: single, holds: 1, checks: 1, life: 2},
	{name: "group", limits: group, ttl: 3, holders: 1, requests: 2, leases: 1, grant: 1,
		vectors: pairs, holds: 1},
	{name: "groupc", limits: group, ttl: 3, holders: 1, requests: 1, leases: 1, grant: 1,
		vectors: pairs, checks: 2, life: 2},
	{name: "window", limits: quota, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1,
		vectors: single, checks: 1, life: 2, window: 3},
	{name: "late", limits: small, ttl: 3, holders: 1, requests: 2, leases: 1, grant: 2,
		late: 5},
	{name: "settle", limits: small, ttl: 3, holders: 1, requests: 1, leases: 2, grant: 2,
		vectors: single, checks: 1, life: 2, settles: true},
	{name: "remember", limits: small, ttl: 3, holders: 1, requests: 2, leases: 2, grant: 1, remembers: true, mayCrash: 1},
}

// TestModel explores the real machines in every order of events: nothing is ever admitted beyond the limit, and the
// invariants hold at each moment.
func TestModel(t *testing.T) {
	for _, r := range sets {
		t.Run(r.name, func(t *testing.T) {
			if r.deep && !*deep {
				t.Skip("large: run with -lease.deep")
			}
			most := math.MaxInt
			if raceDetector || testing.Short() {
				most = 20_000
			}
			began := time.Now()
			e, complete, trace := explore(&r, most)
			if trace != "" {
				t.Fatalf("broken:\n%s", trace)
			}
			t.Logf("%d worlds, %d moves, complete %v, %.1f s", len(e.by), e.tried, complete, time.Since(began).Seconds())
		})
	}
}
