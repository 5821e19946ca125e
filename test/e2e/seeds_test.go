package e2e

import (
	"net"
	"slices"
	"testing"
)

// mute is a seed that takes connections and says nothing.
type mute struct {
	tcp   net.Listener
	udp   net.PacketConn
	conns chan net.Conn
}

// newMute listens on a free port that is free for TCP and UDP.
func newMute(t *testing.T) *mute {
	t.Helper()
	m := &mute{conns: make(chan net.Conn, 64)}
	waitFor(t, "a port that is free for TCP and UDP", func() bool {
		var err error
		if m.tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if m.udp, err = net.ListenPacket("udp", m.tcp.Addr().String()); err != nil {
			m.tcp.Close()
			return false
		}
		return true
	})
	go func() { // ends when the listener is closed
		defer close(m.conns)
		for {
			c, err := m.tcp.Accept()
			if err != nil {
				return
			}
			select {
			case m.conns <- c:
			default:
				c.Close()
			}
		}
	}()
	t.Cleanup(m.close)
	return m
}

func (m *mute) addr() string { return m.tcp.Addr().String() }

// close frees the port.
func (m *mute) close() {
	m.tcp.Close()
	m.udp.Close()
	for c := range m.conns {
		c.Close()
	}
}

// TestDeadSeeds starts daemons whose seeds don't answer: one hangs up at once, another never does. Each becomes ready
// as a guest of nobody, says why, and serves by its share, which is all.
func TestDeadSeeds(t *testing.T) {
	t.Parallel()
	closed := newMute(t)
	closed.close()
	for name, seed := range map[string]string{"closed port": closed.addr(), "says nothing": newMute(t).addr()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, "--join", seed, "--join-timeout", "1s", "--policy", file(t, "limits.yaml", policies))
			d.logged(t, "level=WARN", "no seed answered", seed)
			run(t, "check", "--addr", d.http, "api", "ann").wants(t, 0, "allowed: 9 of 10 left")
			if list, code := d.members(t); len(list) != 1 || list[0].State != "guest" || code != 1 {
				t.Errorf("exit code %d, members %+v, want itself alone, a guest", code, list)
			}
			if code, took := d.terminate(t); code != 0 {
				t.Errorf("exit code %d after SIGTERM, want 0", code)
			} else {
				t.Logf("ended in %v", took)
			}
		})
	}
}

// TestLateSeed starts a daemon before its seed, which takes the port over from one that says nothing.
func TestLateSeed(t *testing.T) {
	t.Parallel()
	m := newMute(t)
	d := start(t, "--name", "early", "--join", m.addr(), "--join-timeout", "1s")
	if list, _ := d.members(t); len(list) != 1 {
		t.Fatalf("before the seed is there: %+v", list)
	}
	m.close()
	seed := start(t, "--name", "late", "--gossip", m.addr(), "--peer", "127.0.0.1:0")
	agreed(t, d, seed)
	list, _ := d.members(t)
	if !slices.ContainsFunc(list, func(m member) bool { return m.ID == "late" && m.State == "active" }) {
		t.Errorf("members are %+v", list)
	}
}
