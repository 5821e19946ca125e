package e2e

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/ring"
)

// long makes the tests of clusters that change as long as clusters do.
var long = flag.Bool("long", false, "roll every node, and let nodes be paused and cut off for longer")

// cluster starts so many daemons, n1 and so on, and returns when all agree.
func cluster(t *testing.T, size int, args ...string) []*daemon {
	t.Helper()
	return command{}.cluster(t, size, args...)
}

func (c command) cluster(t *testing.T, size int, args ...string) []*daemon {
	t.Helper()
	var all []*daemon
	for i := range size {
		own := append([]string{"--name", fmt.Sprint("n", i+1)}, args...)
		if i > 0 {
			own = append(own, "--join", all[0].gossip)
		}
		all = append(all, c.start(t, own...))
	}
	agreed(t, all...)
	return all
}

// agreed waits until these daemons are a whole cluster: their lists of members have them and nobody else, they are
// connected to each other, and each decides for as many partitions as placement gives it. It returns how long that took.
func agreed(t *testing.T, all ...*daemon) time.Duration {
	t.Helper()
	begun := time.Now()
	client := newWeb(t)
	var seen []string
	defer func() {
		if t.Failed() {
			t.Logf("last seen: %q", seen)
		}
	}()
	var want map[string]int
	waitEvery(t, 100*time.Millisecond, fmt.Sprintf("%d daemons to be a whole cluster", len(all)), func() bool {
		whole := true
		seen = seen[:0]
		var epoch float64
		for i, d := range all {
			m := client.metrics(t, d)
			if want == nil {
				want = placed(t, int(m["drossel_ring_partitions"]), all)
			}
			if i == 0 {
				epoch = m["drossel_ring_epoch"]
			}
			seen = append(seen, fmt.Sprintf("%s: %v members, %v links, %v partitions of %d, epoch %x", d.name,
				m["drossel_ring_members"], m["drossel_links_up"], m["drossel_ring_partitions_owned"], want[d.name],
				int(m["drossel_ring_epoch"])))
			if int(m["drossel_ring_members"]) != len(all) || int(m["drossel_links_up"]) != len(all)-1 ||
				int(m["drossel_ring_partitions_owned"]) != want[d.name] || m["drossel_ring_epoch"] != epoch {
				whole = false
			}
		}
		return whole
	})
	return time.Since(begun)
}

// placed returns how many partitions each daemon should have.
func placed(t *testing.T, partitions int, all []*daemon) map[string]int {
	t.Helper()
	b, err := ring.NewBuilder(ring.Params{Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	var members []ring.Member
	for _, d := range all {
		members = append(members, ring.Member{ID: d.name, State: ring.Active})
	}
	r, err := b.Place(members)
	if err != nil {
		t.Fatal(err)
	}
	of := make(map[string]int)
	for i, n := range r.Counts() {
		of[r.Members()[i].ID] = n
	}
	return of
}

// takesLong skips a test unless it was asked for: whole clusters that are grown, rolled and cut for a minute or so. The
// simulation shows the same in the quick suite.
func takesLong(t *testing.T) {
	t.Helper()
	if !*long {
		t.Skip("run with -long")
	}
}
