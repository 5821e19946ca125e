package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const durablePolicies = `version: 1
policies:
  spend: {key: [user], limits: [{quota: 1000/month}]}
`

// durable is a cluster of three with a disk each, all of which may end.
type durable struct {
	policies string
	seeds    [3]string
	dirs     [3]string
	nodes    [3]*daemon
}

func newDurable(t *testing.T) *durable {
	x := &durable{policies: file(t, "limits.yaml", durablePolicies)}
	for i := range x.dirs {
		x.seeds[i], x.dirs[i] = freeAddress(t), t.TempDir()
	}
	return x
}

// begin starts all nodes, in this order, and waits until they are one cluster that has restored what it has.
func (x *durable) begin(t *testing.T, order ...int) {
	t.Helper()
	begun := time.Now()
	for _, i := range order {
		x.nodes[i] = launch(t, command{swift: true}, "--data-dir", x.dirs[i], "--label", t.Name(), "--policy", x.policies, "--deadline", "5s",
			"--join", strings.Join(x.seeds[:], ","), "--expect", "3", "--gossip", x.seeds[i], "--peer", "127.0.0.1:0", "--grpc", "127.0.0.1:0",
			"--http", "127.0.0.1:0")
	}
	for _, d := range x.nodes {
		d.ready(t)
	}
	agreed(t, x.nodes[:]...)
	t.Logf("started after %.2f s", time.Since(begun).Seconds())
}

// left returns what is left of a key's quota.
func (x *durable) left(t *testing.T, client *web, key string) int64 {
	t.Helper()
	var a answer
	waitFor(t, "an owner to say what is left of "+key, func() bool {
		a = client.check(t, x.nodes[0], map[string]any{"policy": "spend", "key": key, "check_only": true})
		return !a.Degraded
	})
	return a.Remaining
}

// TestDurable: what was taken of monthly quotas survives the end of all nodes, by SIGTERM and by SIGKILL, in another order and with one disk
// lost: but for what was taken since the last write.
func TestDurable(t *testing.T) {
	for _, how := range []string{"SIGTERM", "SIGKILL"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			x, client := newDurable(t), newWeb(t)
			x.begin(t, 0, 1, 2)
			const keys = 60
			taken := map[string]int64{}
			take := func() {
				for i := range keys {
					key := fmt.Sprint("customer-", i)
					cost := 1 + rand.Int64N(9)
					if a := client.check(t, x.nodes[i%3], map[string]any{"policy": "spend", "key": key, "cost": cost}); !a.Allowed || a.Degraded {
						t.Fatalf("%s: %+v", key, a)
					}
					taken[key] += cost
				}
			}
			take()
			written := map[string]int64{}
			if how == "SIGTERM" {
				take()
				for _, i := range []int{1, 0, 2} {
					x.nodes[i].terminate(t)
				}
				for key, n := range taken {
					written[key] = n
				}
			} else {
				for key, n := range taken {
					written[key] = n
				}
				x.awaitWrites(t)
				take()
				for _, d := range x.nodes {
					d.kill(t)
				}
			}
			if err := os.RemoveAll(x.dirs[1]); err != nil {
				t.Fatal(err)
			}
			x.begin(t, 2, 1, 0)
			extra, most := int64(0), int64(0)
			for key, all := range taken {
				is := 1000 - x.left(t, client, key)
				if is > all || is < written[key] {
					t.Errorf("%s: %d count as taken, want %d, or at least the %d that were written", key, is, all, written[key])
				}
				extra += all - is
				most += all - written[key]
			}
			t.Logf("%d keys; extra %d of up to %d that were taken since the last write", keys, extra, most)
		})
	}
}

// awaitWrites waits until what was taken before is on the disk of all nodes.
func (x *durable) awaitWrites(t *testing.T) {
	t.Helper()
	sizes := func() (all [3]int64) {
		for i, dir := range x.dirs {
			names, _ := filepath.Glob(filepath.Join(dir, "groups-*.journal"))
			for _, name := range names {
				if info, err := os.Stat(name); err == nil {
					all[i] += info.Size()
				}
			}
		}
		return all
	}
	before, since := sizes(), time.Now()
	waitFor(t, "all to be on disk, and nothing to be written for 2 s", func() bool {
		if now := sizes(); now != before || now[0] == 0 || now[1] == 0 || now[2] == 0 {
			before, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}

// TestDiskFull: where nothing can be written checks go on, the node shouts, and says when it can write again.
func TestDiskFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "drossel-test", dir).CombinedOutput(); err != nil {
		t.Skipf("mounts are not permitted here: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	client := newWeb(t)
	d := start(t, "--data-dir", dir, "--policy", file(t, "limits.yaml", durablePolicies))
	ballast := filepath.Join(dir, "ballast")
	full := exec.Command("dd", "if=/dev/zero", "of="+ballast, "bs=4096")
	full.Run() // it ends when there is no space left
	spend := func(n int) {
		t.Helper()
		for i := range n {
			a := client.check(t, d, map[string]any{"policy": "spend", "key": fmt.Sprint("customer-", i)})
			if !a.Allowed || a.Degraded {
				t.Fatalf("%+v", a)
			}
		}
	}
	spend(500)
	waitFor(t, "the node to shout", func() bool { return strings.Contains(d.stderr.String(), "DURABLE LIMITS ARE NOT ON DISK") })
	spend(500)
	if n := client.metrics(t, d)["drossel_durable_write_failures_total"]; n < 1 {
		t.Errorf("%v failures are counted", n)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "all to be on disk again", func() bool { return strings.Contains(d.stderr.String(), "durable limits are on disk again") })
	d.kill(t)
	d = start(t, "--data-dir", dir, "--policy", file(t, "limits.yaml", durablePolicies))
	x := durable{nodes: [3]*daemon{d}}
	if left := x.left(t, client, "customer-7"); left != 998 {
		t.Errorf("%d are left, want 998", left)
	}
}
