package ownership

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// voter is what a member has said to others, and must not contradict.
type voter struct {
	given []given                   // by partition
	heirs []named                   // whom it has named, by partition
	acked map[Member]bucket.Instant // when authority ends that it may have given
	lost  map[string]uint64         // up to which incarnation it has confirmed the loss
}

// given is what a member has acknowledged about a partition. It is to one claim at a time: the next has to wait until
// nobody can have authority any more by the one before.
type given struct {
	claim  Claim          // the highest that was named to it, and not refused for good
	handed bool           // over to it, by the claim before
	until  bucket.Instant // when authority ends that it may have given, by this claim or the one before
	wait   bucket.Instant // until then this claim is not acknowledged
}

// named is the heir that a member has named for a partition.
type named struct {
	Heir
	at   bucket.Instant
	done bool // the heir has claimed it
}

func newVoter(partitions int) voter {
	return voter{
		given: make([]given, partitions), heirs: make([]named, partitions),
		acked: make(map[Member]bucket.Instant), lost: make(map[string]uint64),
	}
}

// vote acknowledges what a member claims for a fence from now, and returns what it does not: of that there is a higher
// claim, or another heir was named and has yet to claim. Or the claim is the highest and has to wait: that is returned itself.
// While the list is new only what is known to be alone is acknowledged: others may have authority by the list before, from a
// majority that shares nobody with one of this.
func (v *voter) vote(now, listChanged bucket.Instant, who Member, claims []Named, fence time.Duration) (refused []Held) {
	until := now + drift(fence)
	v.acked[who] = max(v.acked[who], until)
	for _, n := range claims {
		if n.Partition < 0 || n.Partition >= len(v.given) {
			continue
		}
		c := Claim{Epoch{n.Term, who.Incarnation}, who.ID}
		g, h := &v.given[n.Partition], &v.heirs[n.Partition]
		if c.Less(g.claim) || h.open(now) && h.Member != who && c.Term <= h.Term+2 {
			refused = append(refused, Held{n.Partition, g.claim})
			continue
		}
		if c.Term >= h.Term+2 {
			h.done = true
		}
		g.supersede(c, n.From)
		if now <= g.wait || now <= listChanged && !n.Live && !g.handed {
			refused = append(refused, Held{n.Partition, c})
			continue
		}
		g.until = max(g.until, until)
	}
	return refused
}

// supersede puts a higher claim in place. Who got the partition from the one before need not wait: that has stopped. Nor need
// the same member.
func (g *given) supersede(c Claim, from Member) {
	if c == g.claim {
		return
	}
	was := g.claim
	g.claim, g.handed = c, from.ID != "" && was.Member() == from && was.Term+1 == c.Term
	if !g.handed && was.Member() != c.Member() {
		g.wait = g.until
	}
}

// gaveUp says that a member does not decide for a partition any more, whatever it was given.
func (v *voter) gaveUp(part int, who Member) {
	if g := &v.given[part]; g.claim.Member() == who {
		g.until = g.wait
	}
}

// open says that an heir still has time to claim.
func (h *named) open(now bucket.Instant) bool {
	return h.Member.ID != "" && !h.done && now-h.at <= bucket.Instant(claimTime)
}

func (v *voter) isLost(who Member) bool {
	up, ok := v.lost[who.ID]
	return ok && who.Incarnation <= up
}
