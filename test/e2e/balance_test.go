package e2e

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// balance is what became of a key of the policy local.
type balance struct {
	admitted int // in all
	old      int // by the node that owned it before the cut and was then cut off
	unsure   int // checks under way to the other part when they were cut off: perhaps they were charged there as well
}

func (x *cut) balances() map[string]balance {
	all := make(map[string]balance)
	for _, l := range []*load{x.loads[0], x.loads[3]} {
		for _, s := range l.sofar() {
			b := all[s.key]
			if s.allowed {
				b.admitted++
				if x.moved(s.key) && !s.degraded && s.node == x.owner[s.key] {
					b.old++
				}
			}
			if s.degraded && s.begun.Before(x.done) && s.begun.Add(s.took).After(x.cutting) {
				b.unsure++
			}
			all[s.key] = b
		}
	}
	return all
}

// level returns what a bucket holds, by how long one has to wait for the next token.
func level(t *testing.T, client *web, d *daemon, key string) int {
	t.Helper()
	a := client.check(t, d, object{"policy": "local", "key": key, "check_only": true})
	if a.Degraded {
		return math.MaxInt
	}
	if a.Allowed {
		return int(a.Remaining)
	}
	wait, err := time.ParseDuration(a.RetryAfter)
	if err != nil {
		t.Fatalf("%s: %+v: %v", key, a, err)
	}
	return 1 - int(math.Round(wait.Hours()/24))
}

// settled waits until what the small part admitted by its shares is charged, and checks that it is charged once. A key
// that had the same owner all along holds exactly what was not admitted; of the others, what their owner admitted last
// may be forgotten.
func (x *cut) settled(t *testing.T) {
	t.Helper()
	client := newWeb(t)
	all := x.balances()
	var owing, forgotten, extra, most int
	for _, key := range x.keys["local"] {
		b := all[key]
		high := cutBurst - b.admitted
		low := max(high-b.unsure, -cutBurst)
		bound := cutBurst + cutOff*cutBurst/cutNodes
		if x.moved(key) {
			high += min(cutBurst, b.old)
			bound += min(cutBurst, b.old)
		}
		var got int
		waitFor(t, fmt.Sprintf("%s, of which %d were admitted, to hold %d to %d", key, b.admitted, low, high), func() bool {
			got = level(t, client, x.large[0], key)
			return got >= low && got <= high
		})
		for _, d := range x.nodes {
			if again := level(t, client, d, key); again != got {
				t.Errorf("%s holds %d at %s, and %d before", key, again, d.name, got)
			}
		}
		if b.admitted > bound {
			t.Errorf("%s: %d admitted, want at most %d", key, b.admitted, bound)
		}
		owing += max(0, -got)
		forgotten += max(0, got-(cutBurst-b.admitted))
		extra += max(0, b.admitted-cutBurst)
		most += bound - cutBurst
	}
	t.Logf("rule local: %d keys, %d extra admissions of at most %d; %d tokens are owed, %d were forgotten with old owners",
		len(x.keys["local"]), extra, most, owing, forgotten)
}
