package lease

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// TestWindowEdge: what is lent from a window dies with it. No window admits more than its limit, whatever was lent at its edge, and
// the next one has nothing less.
func TestWindowEdge(t *testing.T) {
	fixed := bucket.Limit{Algorithm: bucket.FixedWindow, Count: 2000, Per: time.Second, Burst: 2000}
	quota := bucket.Limit{Algorithm: bucket.CalendarWindow, Count: 4000, Burst: 6000, Calendar: bucket.Minute, Zone: "Asia/Kolkata"}
	for name, limits := range map[string][]bucket.Limit{
		"fixed":              {fixed},
		"calendar":           {quota},
		"both, and a bucket": {fixed, quota, {Count: 3000, Per: time.Second, Burst: 9000}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				playWindows(t, limits, seed)
			}
		})
	}
}

// mail is an answer of the owner that is on its way.
type mail struct {
	at     bucket.Instant
	holder int
	answer Answer
}

func playWindows(t *testing.T, limits []bucket.Limit, seed uint64) {
	const holders, trip, length = 3, 2 * ms, 65 * sec
	rnd := rand.New(rand.NewPCG(seed, 1))
	now := bucket.Instant(rnd.Int64N(int64(time.Minute)))
	g := &bucket.Group{Limits: limits, States: make([]bucket.State, len(limits))}
	g.Start(now)
	l := NewLender(limits, ID{Epoch: 1}, now)
	var all [holders]Borrower
	for i := range all {
		all[i].Terms = TermsOf(limits)
	}
	admitted := make([]map[int64]int64, len(limits)) // by window
	for i := range admitted {
		admitted[i] = map[int64]int64{}
	}
	var seq uint64
	var post []mail
	local, total, marked := 0, 0, 0
	for end := now + length; now < end; now += ms / 4 {
		for len(post) > 0 && post[0].at <= now {
			all[post[0].holder].Answer(now, limits, &post[0].answer, time.Duration(2*trip))
			post = post[1:]
		}
		i := rnd.IntN(holders)
		b := &all[i]
		who := fmt.Sprint("h", i)
		v := b.Check(now, 1, time.Duration(2*trip))
		var d bucket.Decision
		which := 0
		switch v {
		case Spent:
			d, which = b.Decision(limits, now, 1, v)
			local++
		case Forward:
			a := l.Check(g, now, who, b.Demand(now), 1)
			b.Told(now, limits, 1, a.Decision, a.Which, a.Deny)
			d, which = a.Decision, a.Which
		}
		if d.Allowed {
			total++
			if limits[which].IsOverage(d.Remaining) {
				marked++
			}
			for j, limit := range limits {
				if limit.Algorithm == bucket.TokenBucket {
					continue
				}
				w := bucket.AlignedWindow(int64(now), time.Second)
				if limit.Calendar != bucket.NoCalendar {
					w = bucket.AlignedWindow(int64(now), time.Minute)
				}
				if admitted[j][w.Index]++; admitted[j][w.Index] > limit.Burst {
					t.Fatalf("seed %d: limit %d admitted more than %d in a window", seed, j, limit.Burst)
				}
			}
		}
		switch due := b.Due(now, time.Duration(2*trip), v == Forward); due {
		case Renewal, Resend:
			if due == Resend {
				continue // nothing is lost here
			}
			seq++
			if a, ok := l.Renew(g, now, who, b.Renew(now, Number{1, seq})); ok {
				post = append(post, mail{now + trip, i, a})
				if a.Tokens > 0 && time.Duration(a.TTL) > g.Edge(now) {
					t.Fatalf("seed %d: a lease of %v, %v before the edge", seed, a.TTL, g.Edge(now))
				}
			}
		case Return:
			if back, ok := b.Close(now); ok {
				l.Renew(g, now, who, back)
			}
		}
	}
	used := ""
	for j, limit := range limits {
		full := 0
		for _, n := range admitted[j] {
			if n >= limit.Burst*9/10 {
				full++
			}
		}
		used += fmt.Sprintf(", %d of %d windows nearly used up", full, len(admitted[j]))
	}
	t.Logf("seed %d: %d of %d admitted from leases, %d marked%s", seed, local, total, marked, used)
	if local < total/2 {
		t.Errorf("seed %d: only %d of %d were admitted from leases", seed, local, total)
	}
}
