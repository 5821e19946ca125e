package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const strictPolicies = `
version: 1
policies:
  api: {key: [user], consistency: strict, limits: [{rate: 1000/30d}]}
  few: {key: [user], consistency: strict, limits: [{rate: 5/30d}]}
  wide: {key: [user], consistency: strict, limits: [{rate: 1000000/365d}]}
`

// redisServer is a redis-server on a socket.
type redisServer struct {
	socket string
	cmd    *exec.Cmd
}

// newRedis makes a place for one.
func newRedis(t *testing.T) *redisServer {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server: test/run installs it")
	}
	dir, err := os.MkdirTemp("", "r") // a short name: sockets have no long ones
	if err != nil {
		t.Fatal(err)
	}
	r := &redisServer{socket: filepath.Join(dir, "s")}
	t.Cleanup(func() {
		if r.cmd != nil {
			r.cmd.Process.Kill()
			r.cmd.Wait()
		}
		os.RemoveAll(dir)
	})
	return r
}

func (r *redisServer) start(t *testing.T) {
	t.Helper()
	r.cmd = exec.Command("redis-server", "--port", "0", "--unixsocket", r.socket, "--save", "", "--appendonly", "no", "--dir", filepath.Dir(r.socket))
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "redis to answer", func() bool {
		c, err := net.Dial("unix", r.socket)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func (r *redisServer) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (r *redisServer) url() string { return "unix://" + r.socket }

// say sends an inline command, and returns a reader of the answers.
func (r *redisServer) say(t *testing.T, command string) *bufio.Reader {
	t.Helper()
	c, err := net.Dial("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	if line, err := in.ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Fatalf("%s: %q, %v", command, line, err)
	}
	return in
}

// monitor counts the calls of scripts from here on.
func (r *redisServer) monitor(t *testing.T) (calls func() int64) {
	t.Helper()
	in := r.say(t, "MONITOR")
	var n atomic.Int64
	var marked atomic.Int64
	go func() { // ends with the connection
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			switch _, command, _ := strings.Cut(line, "] "); {
			case strings.Contains(line, "lua]"):
			case strings.HasPrefix(command, `"EVAL`):
				n.Add(1)
			case strings.HasPrefix(command, `"set" "mark"`):
				marked.Add(1)
			}
		}
	}()
	marks := int64(0)
	return func() int64 {
		marks++
		r.say(t, "set mark 1") // what was called before it has been seen when this is
		waitFor(t, "the monitor to see it", func() bool { return marked.Load() >= marks })
		return n.Load()
	}
}

// strictNodes starts daemons that go by the policies and ask one Redis.
func strictNodes(t *testing.T, r *redisServer, size int, args ...string) (all []*daemon) {
	t.Helper()
	limits := file(t, "limits.yaml", strictPolicies)
	for i := range size {
		more := append([]string{"--name", fmt.Sprint("n", i+1), "--policy", limits, "--redis", r.url()}, args...)
		if i > 0 {
			more = append(more, "--join", all[0].gossip)
		}
		all = append(all, startSwift(t, more...))
	}
	return all
}

// TestStrictExactly: two nodes with 32 callers each admit of a strict limit exactly what there is, while a node joins, Redis forgets its
// scripts and a node is killed. What the killed node did not answer may have been taken.
func TestStrictExactly(t *testing.T) {
	t.Parallel()
	r := newRedis(t)
	r.start(t)
	all := strictNodes(t, r, 2, "--deadline", "3s")
	for _, d := range all {
		waitFor(t, d.name+" to reach Redis", func() bool { return newWeb(t).check(t, d, look("bob")).DecidedBy == "redis" })
	}
	var allowed, denied, unanswered, degraded atomic.Int64
	var stop atomic.Bool
	var callers sync.WaitGroup
	call := func(d *daemon) {
		callers.Go(func() {
			client := newWeb(t)
			for !stop.Load() {
				var a answer
				status, err := client.post(context.Background(), "http://"+d.http+"/v1/check", ask("ann"), &a)
				switch {
				case err != nil || status != http.StatusOK:
					unanswered.Add(1)
					return
				case a.Degraded || a.DecidedBy != "redis":
					degraded.Add(1)
				case a.Allowed:
					allowed.Add(1)
				default:
					denied.Add(1)
				}
			}
		})
	}
	for i := range 64 {
		call(all[i%2])
	}
	waitFor(t, "some to be admitted", func() bool { return allowed.Load() > 200 })
	r.say(t, "script flush")
	third := startSwift(t, "--name", "n3", "--policy", file(t, "limits.yaml", strictPolicies), "--redis", r.url(), "--deadline", "3s", "--join", all[0].gossip)
	waitFor(t, "n3 to reach Redis", func() bool { return newWeb(t).check(t, third, look("bob")).DecidedBy == "redis" })
	for range 32 {
		call(third)
	}
	r.say(t, "script flush")
	all[1].kill(t)
	waitFor(t, "all to be used", func() bool { return denied.Load() > 1000 })
	stop.Store(true)
	callers.Wait()
	n, lost := allowed.Load(), unanswered.Load()
	t.Logf("%d admitted, %d denied, %d not answered by the node that was killed", n, denied.Load(), lost)
	if n > 1000 || n+lost < 1000 || lost > 32 || degraded.Load() > 0 {
		t.Errorf("%d admitted and %d not answered, want 1000; %d by rule", n, lost, degraded.Load())
	}
}

// TestStrictCalls: each check is one call of Redis, and none while a denial holds.
func TestStrictCalls(t *testing.T) {
	t.Parallel()
	r := newRedis(t)
	r.start(t)
	d := strictNodes(t, r, 1, "--deadline", "3s")[0]
	client := newWeb(t)
	waitFor(t, "Redis to be reached, have the script and be owed nothing", func() bool {
		a := client.check(t, d, object{"policy": "few", "key": "first"})
		return a.DecidedBy == "redis" && client.metrics(t, d)["drossel_redis_debts_open"] == 0
	})
	calls := r.monitor(t)
	for i := range 5 {
		if a := client.check(t, d, object{"policy": "few", "key": "ann"}); !a.Allowed || a.DecidedBy != "redis" || a.Remaining != int64(4-i) {
			t.Fatalf("%+v", a)
		}
	}
	if n := calls(); n != 5 {
		t.Errorf("%d calls for five checks", n)
	}
	begun := time.Now()
	denied := 0
	for time.Since(begun) < 500*time.Millisecond {
		if a := client.check(t, d, object{"policy": "few", "key": "ann"}); a.Allowed || a.DecidedBy != "redis" {
			t.Fatalf("%+v", a)
		}
		denied++
	}
	if n := calls() - 5; n != 1 && n > int64(time.Since(begun)/time.Second)+1 {
		t.Errorf("%d calls for %d denials in %v, want one a second", n, denied, time.Since(begun))
	}
	m := client.metrics(t, d)
	if m[`drossel_checks_decided_total{policy="few",where="redis_denial"}`] < float64(denied-2) {
		t.Errorf("%d denials, and the metrics have %v", denied, m[`drossel_checks_decided_total{policy="few",where="redis_denial"}`])
	}
}

// TestStrictPaused: daemons start without Redis and say so once; when it is paused under load every check is answered, by rule, and soon it
// is not asked any more. When it goes on it is asked again, and has counted what was admitted, once.
func TestStrictPaused(t *testing.T) {
	t.Parallel()
	r := newRedis(t)
	all := strictNodes(t, r, 2)
	for _, d := range all {
		if n := strings.Count(d.stderr.String(), "redis is not reached"); n != 1 {
			t.Errorf("%s has said %d times that Redis is not reached", d.name, n)
		}
	}
	r.start(t)
	metric := func(d *daemon, name string) float64 { return newWeb(t).metrics(t, d)[name] }
	open := fmt.Sprintf("drossel_redis_open{server=%q}", r.socket)
	each := func(what string, so func(d *daemon) bool) time.Duration {
		t.Helper()
		begun := time.Now()
		for _, d := range all {
			waitFor(t, d.name+" "+what, func() bool { return so(d) })
		}
		return time.Since(begun)
	}
	each("to reach Redis", func(d *daemon) bool { return metric(d, open) == 0 })
	var allowed, byRule, slowest atomic.Int64
	var stop atomic.Bool
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			client := newWeb(t)
			pace := time.NewTicker(2 * time.Millisecond)
			defer pace.Stop()
			for !stop.Load() {
				<-pace.C
				var a answer
				begun := time.Now()
				status, err := client.post(context.Background(), "http://"+all[i%2].http+"/v1/check", object{"policy": "wide", "key": "ann"}, &a)
				if err != nil || status != http.StatusOK || !a.Allowed {
					t.Errorf("%d, %v, %+v", status, err, a)
					return
				}
				if allowed.Add(1); a.Degraded {
					byRule.Add(1)
				}
				for took := int64(time.Since(begun)); ; {
					if was := slowest.Load(); took <= was || slowest.CompareAndSwap(was, took) {
						break
					}
				}
			}
		})
	}
	for round := range 3 {
		before := allowed.Load() - byRule.Load()
		waitFor(t, "checks to be decided by Redis", func() bool { return allowed.Load()-byRule.Load() > before+200 })
		slowest.Store(0)
		r.signal(t, syscall.SIGSTOP)
		opened := each("to ask no more", func(d *daemon) bool { return metric(d, open) == 1 })
		ruled := byRule.Load()
		waitFor(t, "checks to be decided by rule", func() bool { return byRule.Load() > ruled+300 })
		r.signal(t, syscall.SIGCONT)
		closed := each("to ask again", func(d *daemon) bool { return metric(d, open) == 0 })
		t.Logf("round %d: not asked %.0f ms after it was paused, asked %.0f ms after it went on; the slowest check took %.1f ms", round+1,
			opened.Seconds()*1000, closed.Seconds()*1000, time.Duration(slowest.Load()).Seconds()*1000)
		if opened > 10*time.Second || closed > 20*time.Second {
			t.Errorf("want less than a second, and two")
		}
	}
	stop.Store(true)
	callers.Wait()
	each("to owe nothing", func(d *daemon) bool { return metric(d, "drossel_redis_debts_open") == 0 })
	left := newWeb(t).check(t, all[0], object{"policy": "wide", "key": "ann", "check_only": true})
	if used := 1_000_000 - left.Remaining; left.DecidedBy != "redis" || used != allowed.Load() {
		t.Errorf("%d admitted, %d of them by rule, and Redis has counted %d (%+v)", allowed.Load(), byRule.Load(), used, left)
	}
	t.Logf("%d admitted, %d of them by rule", allowed.Load(), byRule.Load())
}

// TestStrictRefused: what can't work is refused with what to do.
func TestStrictRefused(t *testing.T) {
	t.Parallel()
	limits := file(t, "limits.yaml", strictPolicies)
	run(t, "serve", "--gossip", "127.0.0.1:0", "--policy", limits).wants(t, 1, "policy api is strict", "--redis redis://HOST:PORT")
	run(t, "serve", "--redis", "http://127.0.0.1:1").wants(t, 1, "--redis", "want redis://USER:PASSWORD@HOST:PORT")
	run(t, "serve", "--redis", "rediss://127.0.0.1:1", "--redis-ca", limits).wants(t, 1, "--redis-ca", "no certificate")
	run(t, "policy", "validate", limits).wants(t, 0)
	run(t, "policy", "validate", file(t, "bad.yaml", strings.Replace(strictPolicies, "5/30d", strconv.Itoa(1<<52)+"/30d", 1))).wants(t, 1, "can't be strict")
}
