package e2e

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// freeAddress returns an address that stays free for TCP and UDP: nothing else uses its ip.
func freeAddress(t *testing.T) string {
	t.Helper()
	pid := os.Getpid()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>15&0x7f, pid>>8&0x7f, pid&0xff))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestStartTogether starts three new nodes at the same moment, each with all three as its seeds, as a stateful set does.
// They found one cluster, whether they are told how many they are or not.
func TestStartTogether(t *testing.T) {
	takesLong(t)
	t.Parallel()
	tests := []struct {
		name   string
		args   []string
		within time.Duration // as promised, without what a busy machine takes to start processes
	}{
		{"expected", []string{"--expect", "3"}, time.Second},
		{"not expected", []string{"--join-timeout", "2s"}, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			limits := file(t, "limits.yaml", policies)
			seeds := []string{freeAddress(t), freeAddress(t), freeAddress(t)}
			begun := time.Now()
			var all []*daemon
			for i, own := range seeds {
				all = append(all, launch(t, command{swift: true}, append([]string{
					"--name", fmt.Sprint("n", i+1), "--label", t.Name(), "--policy", limits, "--join", strings.Join(seeds, ","),
					"--gossip", own, "--peer", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
				}, tt.args...)...))
			}
			for _, d := range all {
				d.ready(t)
			}
			ready := time.Since(begun)
			agreed(t, all...)
			t.Logf("all ready after %.2f s, a whole cluster after %.2f s", ready.Seconds(), time.Since(begun).Seconds())
			if ready > 10*tt.within {
				t.Errorf("ready after %v, want %v or so", ready, tt.within)
			}
			once(t, all)
		})
	}
}

// once asks all nodes for one key each, again and again: it is one bucket.
func once(t *testing.T, all []*daemon) {
	t.Helper()
	client := newWeb(t)
	got := 0
	for i := range 2 * burst {
		if a := client.check(t, all[i%len(all)], ask("ann")); a.Allowed {
			got++
		}
	}
	if got != burst {
		t.Errorf("%d admitted, want %d", got, burst)
	}
}

// TestOneToFive grows a single node to five and shrinks it to one again, under load.
func TestOneToFive(t *testing.T) {
	takesLong(t)
	t.Parallel()
	begun := time.Now()
	r := newRoster(t, 1, 60)
	r.step(t, "grow to 5", func() {
		for n := 2; n <= 5; n++ {
			r.join(t, fmt.Sprint("n", n))
		}
		agreed(t, r.now...)
	})
	for n := 4; n >= 1; n-- {
		r.step(t, fmt.Sprint("shrink to ", n), func() { r.leave(t) })
	}
	r.step(t, "whole again", func() { agreed(t, r.now...) })
	r.exact(t, begun)
}
