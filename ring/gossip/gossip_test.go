package gossip

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/drossel-dev/drossel/ring"
)

func TestNodesMeet(t *testing.T) {
	cfg, _ := config("a", 1)
	a := run(t, cfg)
	await(t, a, "a/1 joining")
	cfg, _ = config("b", 0xbee, a.Addr())
	b := run(t, cfg)
	join(t, b, 1)
	for _, g := range []*Gossip{a, b} {
		await(t, g, "a/1 joining", "b/bee joining")
	}
	cfg, _ = config("c", 3, a.Addr(), b.Addr())
	c := run(t, cfg)
	join(t, c, 2)
	for _, g := range []*Gossip{a, b, c} {
		await(t, g, "a/1 joining", "b/bee joining", "c/3 joining")
	}
	if got := b.Members()[2]; got != (ring.Member{ID: "c", Boot: 3, Peer: "c.test:7947", State: ring.Joining}) {
		t.Errorf("b knows c as %+v", got)
	}
	b.Members()[0].ID = "changed"
	await(t, b, "a/1 joining", "b/bee joining", "c/3 joining")
}

// As an embedder starts it: the timing and the name server that a cluster has, and no log.
func TestStart(t *testing.T) {
	var nodes []*Gossip
	for _, id := range []string{"a", "b"} {
		cfg, _ := config(id, 1)
		cfg.Logger = nil
		for _, g := range nodes {
			cfg.Seeds = append(cfg.Seeds, g.Addr())
		}
		g, err := Start(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		nodes = append(nodes, g)
	}
	join(t, nodes[1], 1)
	for _, g := range nodes {
		await(t, g, "a/1 joining", "b/1 joining")
	}
}

func TestStateReachesTheOthers(t *testing.T) {
	cfg, _ := config("a", 1)
	a := run(t, cfg)
	if err := a.SetState(t.Context(), ring.Active); err != nil { // nobody to tell
		t.Fatal(err)
	}
	await(t, a, "a/1 active")
	cfg, _ = config("b", 1, a.Addr())
	b := run(t, cfg)
	join(t, b, 1)
	await(t, b, "a/1 active", "b/1 joining")
	for _, state := range []ring.State{ring.Active, ring.Leaving} {
		if err := b.SetState(t.Context(), state); err != nil {
			t.Fatal(err)
		}
		await(t, a, "a/1 active", "b/1 "+state.String())
	}
	for _, state := range []ring.State{0, 4} {
		if err := b.SetState(t.Context(), state); !errors.Is(err, ErrConfig) {
			t.Errorf("SetState(%d) = %v, want ErrConfig", state, err)
		}
	}
}

func TestLeaveIsSeen(t *testing.T) {
	cfg, _ := config("a", 1)
	a := run(t, cfg)
	cfg, _ = config("b", 1, a.Addr())
	b := run(t, cfg)
	join(t, b, 1)
	await(t, a, "a/1 joining", "b/1 joining")
	if err := b.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, a, "a/1 joining")
	if _, err := b.Join(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Join after Leave: %v, want ErrClosed", err)
	}
	if err := b.SetState(t.Context(), ring.Active); !errors.Is(err, ErrClosed) {
		t.Errorf("SetState after Leave: %v, want ErrClosed", err)
	}
	if err := b.Leave(t.Context()); err != nil {
		t.Errorf("a second Leave: %v", err)
	}
}

func TestLeaveThatNobodyHearsIsNoError(t *testing.T) {
	cfg, log := config("a", 1)
	a := run(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// Whether the leave or the end of ctx is seen first is open here; neither is an error.
	if err := a.Leave(ctx); err != nil {
		t.Error(err)
	}
	a.journal.close()
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("an error is logged:\n%s", log)
	}
}

func TestCrashIsSeen(t *testing.T) {
	cfg, _ := config("a", 1)
	a := runWith(t, cfg, settings{tune: nervous})
	cfg, _ = config("b", 1, a.Addr())
	b := runWith(t, cfg, settings{tune: nervous})
	join(t, b, 1)
	await(t, a, "a/1 joining", "b/1 joining")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, a, "a/1 joining")
}

// With the probes as they are it takes seconds to find a dead process; the new one is not held up by it.
func TestRestartReplacesAtOnce(t *testing.T) {
	cfg, _ := config("a", 1)
	a := run(t, cfg)
	cfg, _ = config("b", 1, a.Addr())
	b := run(t, cfg)
	join(t, b, 1)
	await(t, a, "a/1 joining", "b/1 joining")
	cfg.Bind = b.Addr()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Self.Boot = 2
	again := run(t, cfg)
	join(t, again, 1)
	for _, g := range []*Gossip{a, again} {
		await(t, g, "a/1 joining", "b/2 joining")
	}
	if n := a.list.NumMembers(); n != 3 {
		t.Errorf("memberlist knows %d processes, want 3: the dead one, still unnoticed, is what the test is about", n)
	}
}

func TestTwoProcessesWithOneID(t *testing.T) {
	const text = "two processes use one node id"
	cfg, oldLog := config("a", 1)
	older := run(t, cfg)
	cfg, newLog := config("a", 2, older.Addr())
	newer := run(t, cfg)
	join(t, newer, 1)
	await(t, older, "a/2 joining")
	await(t, newer, "a/2 joining")
	oldLog.await(t, "level=ERROR", text, "id=a", "boot=1", "other_boot=2", newer.Addr())
	if err := newer.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, older, "a/1 joining")

	cfg, _ = config("a", 1, older.Addr())
	twin := run(t, cfg)
	if _, err := twin.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	oldLog.await(t, "level=ERROR", text, "other_boot=1", twin.Addr())
	newer.journal.close()
	if strings.Contains(newLog.String(), text) {
		t.Errorf("the newer process complains of the older:\n%s", newLog)
	}
}

func TestEndsOnce(t *testing.T) {
	cfg, _ := config("a", 1)
	a := run(t, cfg)
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closers.Wait()
	_, joined := a.Join(t.Context())
	for call, err := range map[string]error{
		"Join": joined, "SetState": a.SetState(t.Context(), ring.Active), "Leave": a.Leave(t.Context()),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", call, err)
		}
	}
	await(t, a, "a/1 joining")
}

// A call that waits for the network goes on when its context ends, and Close waits for what is left of it.
func TestContextEndsACall(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	cfg, _ := config("a", 1, silent.Addr().String())
	a := run(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	accepted := make(chan net.Conn, 1)
	go func() {
		defer close(accepted)
		if conn, err := silent.Accept(); err == nil {
			accepted <- conn
		}
		cancel()
	}()
	if n, err := a.Join(ctx); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Join = %d, %v, want context.Canceled", n, err)
	}
	if conn := <-accepted; conn != nil {
		conn.Close() // Close need not wait for the timeout
	}
}
