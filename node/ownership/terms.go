package ownership

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

const (
	// leastHeartbeat is how often a member of a small cluster is heard, and heartbeatPerMember what each further one adds
	// in a large one, so that the traffic of a node stays the same.
	leastHeartbeat     = 100 * time.Millisecond
	heartbeatPerMember = 2 * time.Millisecond
	// fenceBeats is how many heartbeats without a majority's acknowledgement end a member's authority.
	fenceBeats = 4
	// claimTime is how long the heir of a partition has to claim it before another may be named.
	claimTime = time.Second
	// copiesTime is how long an heir waits for the copies of members that do not answer.
	copiesTime = 60 * time.Millisecond
	// noCopyTime is how long it waits for anybody while it knows of no copy.
	noCopyTime = claimTime / 2

	askInterval     = 50 * time.Millisecond
	copiesInterval  = 10 * time.Millisecond
	prepareInterval = 30 * time.Millisecond
	joinInterval    = 100 * time.Millisecond
	soonInterval    = time.Millisecond // between two heartbeats that are sent out of turn
	// nearBeats is for how many heartbeats an heir may have been silent.
	nearBeats = 2
	// awayFences is after how many silent fences a member counts as away, and is not placed.
	awayFences = 3
	// maxMoves is how many partitions are on their way out of one node at a time.
	maxMoves = 16
)

// HeartbeatInterval returns how often a member of a list of n sends heartbeats.
func HeartbeatInterval(n int) time.Duration {
	return max(leastHeartbeat, time.Duration(n)*heartbeatPerMember)
}

// Fence returns how long an acknowledged heartbeat gives authority in a list of n, counted from when it was sent.
func Fence(n int) time.Duration { return fenceBeats * HeartbeatInterval(n) }

// drift is a fence by the clock of somebody else: 2.1 % more, where two clocks of a hundredth each may differ by 2.02 %.
func drift(d time.Duration) bucket.Instant { return bucket.Instant(d + d/1000*21) }
