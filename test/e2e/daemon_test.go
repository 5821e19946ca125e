package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// daemon is a running drossel serve.
type daemon struct {
	name, gossip, peer, grpc, http string

	cmd            *exec.Cmd
	stdout, stderr output
	ending         atomic.Bool   // it has been told to end
	ended          chan struct{} // closed once it has been waited for
}

// policies is what the daemons of most tests know.
const policies = `
version: 1
policies:
  api:
    key: [user]
    limits: [{rate: 10/h}]
  llm:
    key: [tenant, model]
    limits: [{name: tokens, rate: 1k/h}]
`

// start starts a daemon on free ports and returns when it is ready. It is killed when the test ends, if it still runs
// then. Each test has a label of its own, so that a node never meets one of another test at a port used before.
func start(t *testing.T, args ...string) *daemon {
	t.Helper()
	return command{}.start(t, args...)
}

// startSwift is start without the race detector. With it three nodes with nothing to do keep a processor busy, and if
// callers come in addition they are too slow for each other: the tests of nodes that are lost would lose others.
func startSwift(t *testing.T, args ...string) *daemon {
	t.Helper()
	return command{swift: true}.start(t, args...)
}

func (c command) start(t *testing.T, args ...string) *daemon {
	t.Helper()
	d := launch(t, c, append([]string{
		"--gossip", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--label", t.Name(),
	}, args...)...)
	d.ready(t)
	return d
}

// launch starts a daemon with these flags alone. It goes before whatever else the machine does, if that is allowed: a
// node that gets no processor for several tenths of a second stops deciding, as it should, and the others take over.
func launch(t *testing.T, c command, args ...string) *daemon {
	t.Helper()
	if os.Getuid() == 0 {
		c.by = append(c.by, "nice", "-n", "-10")
	}
	d := &daemon{ended: make(chan struct{})}
	d.cmd = c.prepare(context.Background(), append([]string{"serve"}, args...)...)
	d.cmd.Stdout, d.cmd.Stderr = &d.stdout, &d.stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		d.cmd.Wait() // how it ended is in ProcessState
		close(d.ended)
	}()
	t.Cleanup(func() {
		d.kill(t)
		sound(t, d.stderr.String())
		if t.Failed() {
			t.Logf("log of %s (%q):\n%.20000s", d.name, args, d.stderr.String())
		}
	})
	return d
}

// ready waits until the daemon says that it is, and reads its addresses.
func (d *daemon) ready(t *testing.T) {
	t.Helper()
	waitFor(t, "a daemon to be ready", func() bool {
		if d.hasEnded() {
			t.Fatalf("it ended with code %d instead:\n%s", d.cmd.ProcessState.ExitCode(), d.stderr.String())
		}
		return strings.Contains(d.stdout.String(), "\nready ") && strings.HasSuffix(d.stdout.String(), "\n")
	})
	fields := map[string]*string{"gossip": &d.gossip, "peer": &d.peer, "grpc": &d.grpc, "http": &d.http, "ready": &d.name}
	for line := range strings.Lines(d.stdout.String()) {
		words := strings.Fields(line)
		if len(words) != 2 || fields[words[0]] == nil {
			t.Fatalf("a line on stdout is %q, want a word and an address", line)
		}
		*fields[words[0]] = words[1]
	}
}

func (d *daemon) hasEnded() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

// kill ends the process without a word, and waits for it.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	d.ending.Store(true)
	d.signal(t, os.Kill)
	<-d.ended
}

func (d *daemon) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil && !d.hasEnded() {
		waitFor(t, "a process that takes no signal to have ended", d.hasEnded)
	}
}

// terminate ends the process politely, and returns its exit code and how long it took.
func (d *daemon) terminate(t *testing.T) (code int, took time.Duration) {
	t.Helper()
	begun := time.Now()
	d.ending.Store(true)
	d.signal(t, syscall.SIGTERM)
	waitFor(t, d.name+" to end", d.hasEnded)
	return d.cmd.ProcessState.ExitCode(), time.Since(begun)
}

// logged waits until the log has a line with all the parts, and returns it.
func (d *daemon) logged(t *testing.T, parts ...string) (line string) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%s to log a line with %q", d.name, parts), func() bool {
		line = d.line(parts...)
		return line != ""
	})
	return line
}

// line returns the first whole line of the log with all the parts, or "".
func (d *daemon) line(parts ...string) string {
	for line := range strings.Lines(d.stderr.String()) {
		missing := slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) })
		if !missing && strings.HasSuffix(line, "\n") {
			return line
		}
	}
	return ""
}

// member is what drossel members --json shows of one.
type member struct {
	ID, State, Link string
	Self            bool
	Status          *struct {
		Epoch      string
		Partitions int
	}
}

// members asks a daemon with drossel members.
func (d *daemon) members(t *testing.T) (list []member, code int) {
	t.Helper()
	r := run(t, "members", "--addr", d.http, "--json")
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		t.Fatalf("drossel members: %v: %s%s", err, r.stdout, r.stderr)
	}
	return list, r.code
}
