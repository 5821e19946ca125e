package strict_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
	"github.com/drossel-dev/drossel/node/strict"
)

// A client of a cluster looks at it once more a second later, and closes connections that it needs no more after five, in goroutines that
// end by themselves.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}

func TestOpenRefuses(t *testing.T) {
	for _, urls := range [][]string{nil, {"localhost:6379"}, {"http://localhost"}, {"redis://a:1", "redis://a:1"}, {"redis://a:1/x"}, {"redis://u:secret@[::"}, {"redis://u:secret@a b:1"}, {"redis://u:secret@a:1/x"}} {
		if c, err := strict.Open(strict.Config{URLs: urls}); err == nil {
			c.Close()
			t.Errorf("%q are taken", urls)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v: it tells the password", urls, err)
		}
	}
}

// TestStartsWithoutRedis: a client opens at once, says that it can't ask, and asks as soon as there is a server.
func TestStartsWithoutRedis(t *testing.T) {
	s := newServer(t)
	c := open(t, s.url())
	begun := time.Now()
	if _, err := ask(c, 1, redis.Take, 1); !errors.Is(err, strict.ErrUnavailable) || strict.KindOf(err) != strict.Down {
		t.Errorf("%v", err)
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("to say so took %v", took)
	}
	s.start()
	took := within(t, "decision", func() bool { _, err := ask(c, 1, redis.Take, 1); return err == nil })
	t.Logf("decides %v after the server was started", took)
}

// TestPaused: while Redis is paused every call ends in its time, soon without asking, and it is asked again when it goes on.
func TestPaused(t *testing.T) {
	s := newServer(t).start()
	c := open(t, s.url())
	answered(t, c, 1, redis.Look, 0)
	var halt atomic.Bool
	var slowest atomic.Int64
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			pace := time.NewTicker(time.Millisecond)
			defer pace.Stop()
			for !halt.Load() {
				<-pace.C
				begun := time.Now()
				ask(c, uint64(i), redis.Take, 1)
				for took := int64(time.Since(begun)); ; {
					if was := slowest.Load(); took <= was || slowest.CompareAndSwap(was, took) {
						break
					}
				}
			}
		})
	}
	s.signal(stop)
	opened := within(t, "breaker that opens", func() bool { return c.Stats()[0].Open })
	slowest.Store(0)
	within(t, "call that is not made", func() bool { return c.Stats()[0].Errors[strict.Down] > 100 })
	s.signal(goOn)
	closed := within(t, "breaker that closes", func() bool { return !c.Stats()[0].Open })
	halt.Store(true)
	callers.Wait()
	t.Logf("open %v after it was paused, closed %v after it went on; the slowest call meanwhile took %v", opened, closed, time.Duration(slowest.Load()))
	answered(t, c, 1, redis.Look, 0)
	if st := c.Stats()[0]; st.Calls == 0 || st.Took == 0 || st.Errors[strict.Timeout] == 0 {
		t.Errorf("%+v", st)
	}
}

// TestC97: what was asked for and not answered is not asked for again.
func TestC97(t *testing.T) {
	s := newServer(t).start()
	s.admin()
	p := newProxy(t, s)
	c := open(t, p.url())
	answered(t, c, 1, redis.Look, 0)
	p.loses.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), generous) // it arrives, and its answer ends the connection
	defer cancel()
	if r, err := c.Ask(ctx, asked(1, redis.Take, 1)); err == nil {
		t.Fatalf("%+v: the answer was lost", r)
	} else if k := strict.KindOf(err); k != strict.Timeout && k != strict.Connection {
		t.Errorf("%v: %v", k, err)
	}
	p.loses.Store(false)
	direct := open(t, s.url())
	within(t, "take that was lost", func() bool { return answered(t, direct, 1, redis.Look, 0).Decision.Remaining < 10 })
	if left := answered(t, c, 1, redis.Look, 0).Decision.Remaining; left != 9 {
		t.Errorf("%d are left, want 9", left)
	}
}

// TestServerTrouble: each kind of trouble has its name, takes nothing, and is over when it is.
func TestServerTrouble(t *testing.T) {
	for _, c := range []struct {
		name       string
		begin, end []string
		kind       strict.Kind
	}{
		{"a replica", []string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}, strict.ReadOnly},
		{"no memory", []string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}, strict.Memory},
		{"no rights", []string{"ACL", "SETUSER", "default", "-evalsha", "-eval"}, []string{"ACL", "SETUSER", "default", "+evalsha", "+eval"}, strict.Login},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t).start()
			admin := s.admin()
			client := open(t, s.url())
			answered(t, client, 1, redis.Take, 1)
			tell(t, admin, c.begin...)
			var got strict.Kind
			within(t, "trouble", func() bool {
				_, err := ask(client, 1, redis.Take, 1)
				if err != nil {
					got = strict.KindOf(err)
				}
				return err != nil && got != strict.Timeout
			})
			if got != c.kind {
				t.Errorf("it is told as %v, want %v", got, c.kind)
			}
			tell(t, admin, c.end...)
			if left := answered(t, client, 1, redis.Look, 0).Decision.Remaining; left > 9 {
				t.Errorf("%d are left", left)
			}
		})
	}
}

// TestForgetful: a server that forgets its scripts is told them again; one that forgets everything has every bucket full.
func TestForgetful(t *testing.T) {
	s := newServer(t).start()
	admin := s.admin()
	c := open(t, s.url())
	answered(t, c, 1, redis.Take, 4)
	tell(t, admin, "SCRIPT", "FLUSH")
	if left := answered(t, c, 1, redis.Look, 0).Decision.Remaining; left != 6 {
		t.Errorf("%d are left, want 6", left)
	}
	tell(t, admin, "FLUSHALL")
	if left := answered(t, c, 1, redis.Look, 0).Decision.Remaining; left != 10 {
		t.Errorf("%d are left, want all", left)
	}
}

// TestDebitOnce: a debit counts once, however often it is sent, and what is given back is there again.
func TestDebitOnce(t *testing.T) {
	s := newServer(t).start()
	c := open(t, s.url())
	take := asked(1, redis.Take, 4)
	take.Chunk = time.Minute
	var taken redis.Reply
	within(t, "take", func() (ok bool) {
		var err error
		taken, err = c.Ask(t.Context(), take)
		return err == nil
	})
	debit := func(number uint64) {
		t.Helper()
		a := asked(1, redis.Debit, 3)
		a.Op = redis.Op{Asker: "n1#7", Number: number}
		if _, err := c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	for _, number := range []uint64{1, 1, 2, 1, 2} {
		debit(number)
	}
	if left := answered(t, c, 1, redis.Look, 0).Decision.Remaining; left != 0 {
		t.Errorf("%d are left, want 10-4-3-3", left)
	}
	debit(3)
	if r := answered(t, c, 1, redis.Look, 1); r.Decision.Allowed || r.Decision.RetryAfter < 3*24*time.Hour {
		t.Errorf("%+v, want a debt of three", r.Decision)
	}
	give := asked(1, redis.Give, 4)
	give.Taken, give.Chunk = taken.At, time.Minute
	if _, err := c.Ask(t.Context(), give); err != nil {
		t.Fatal(err)
	}
	if left := answered(t, c, 1, redis.Look, 0).Decision.Remaining; left != 1 {
		t.Errorf("%d are left, want 1", left)
	}
}

func TestLogin(t *testing.T) {
	s := newServer(t, "--user", "default", "off", "--user", "lim", "on", ">secret", "~drossel:*", "+@all").start()
	right := "unix://lim:secret@" + s.socket
	wrong := open(t, "unix://lim:guess@"+s.socket)
	c := open(t, right)
	if r := answered(t, c, 1, redis.Take, 1); r.Decision.Remaining != 9 {
		t.Errorf("%+v", r)
	}
	if _, err := ask(wrong, 1, redis.Take, 1); !errors.Is(err, strict.ErrUnavailable) || strings.Contains(err.Error(), "guess") {
		t.Errorf("%v", err)
	}
}

// TestSeveralServers: groups are spread, in the same way whoever names the servers in which order, and one that is gone is not in the way.
func TestSeveralServers(t *testing.T) {
	all := []*server{newServer(t).start(), newServer(t).start(), newServer(t).start()}
	a, b := open(t, all[0].url(), all[1].url(), all[2].url()), open(t, all[2].url(), all[0].url(), all[1].url())
	for key := range uint64(60) {
		answered(t, a, key, redis.Take, 1)
	}
	for key := range uint64(60) {
		if left := answered(t, b, key, redis.Look, 0).Decision.Remaining; left != 9 {
			t.Errorf("key %d: %d are left", key, left)
		}
	}
	for i, s := range a.Stats() {
		if s.Calls < 8 {
			t.Errorf("server %d has %d of 60 keys", i, s.Calls)
		}
	}
	all[1].kill()
	within(t, "server that is known to be gone", func() bool {
		for key := range uint64(60) {
			ask(a, key, redis.Look, 0)
		}
		return a.Stats()[1].Open
	})
	worked := 0
	for key := range uint64(60) {
		ok := false
		for range 20 {
			if _, err := ask(a, key, redis.Look, 0); err == nil {
				ok = true
				break
			}
		}
		if ok {
			worked++
		}
	}
	if worked < 25 || worked == 60 {
		t.Errorf("%d of 60 keys are decided though one of three servers is gone", worked)
	}
}

func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for k := strict.Timeout; k <= strict.Other; k++ {
		if text := fmt.Sprint(k); text == "" || seen[text] {
			t.Errorf("kind %d is %q", k, text)
		} else {
			seen[text] = true
		}
	}
}

// TestApproximate: counters admit no more than there is in a window, however many ask at once, are taken off again by who is denied, and end.
func TestApproximate(t *testing.T) {
	s := newServer(t).start()
	admin := s.admin()
	c := open(t, s.url())
	limits := []bucket.Limit{
		{Algorithm: bucket.FixedWindow, Count: 100, Per: 1000 * time.Hour, Burst: 100, Tag: 1},
		{Algorithm: bucket.CalendarWindow, Calendar: bucket.Year, Count: 60, Burst: 60, Tag: 2},
	}
	do := func(what redis.Do, costs ...int64) redis.Reply {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), generous)
		defer cancel()
		r, err := c.Ask(ctx, &redis.Ask{Do: what, Policy: "api", ID: idOf(1), Limits: limits, Costs: costs, Approximate: true, Taken: bucket.Instant(time.Now().UnixNano())})
		if err != nil {
			t.Error(err)
		}
		return r
	}
	within(t, "server", func() bool { return !c.Stats()[0].Open })
	var allowed atomic.Int64
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			for range 4 {
				if do(redis.Take, 1, 1).Decision.Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	n := allowed.Load()
	if left := do(redis.Look, 0, 0); n > 60 || n < 28 || left.Which != 1 || left.Decision.Remaining != 60-n {
		t.Errorf("%d are admitted of 60; then %+v", n, left)
	}
	do(redis.Give, 5, 5)
	if left := do(redis.Look, 0, 0); left.Decision.Remaining != 65-n {
		t.Errorf("after five came back %+v", left)
	}
	do(redis.Debit, 90, 90)
	if d := do(redis.Take, 1, 1).Decision; d.Allowed || d.RetryAfter <= 0 {
		t.Errorf("%+v", d)
	}
	keys, err := admin.Do(t.Context(), admin.B().Keys().Pattern("drossel:{*").Build()).AsStrSlice()
	if err != nil || len(keys) != 2 {
		t.Errorf("%q, %v", keys, err)
	}
	for _, key := range keys {
		if ttl, err := admin.Do(t.Context(), admin.B().Pttl().Key(key).Build()).AsInt64(); err != nil || ttl <= 0 || ttl > 367*24*3600_000 {
			t.Errorf("%s is there for %d ms more, %v", key, ttl, err)
		}
	}
}

// TestInTime: no call takes longer than it may, though a connection that never comes is waited for, on which others wait as well.
func TestInTime(t *testing.T) {
	s := newServer(t).start()
	p := newProxy(t, s)
	c := open(t, p.url())
	answered(t, c, 1, redis.Look, 0)
	s.signal(stop)
	defer s.signal(goOn)
	var callers sync.WaitGroup
	for i := range 20 {
		callers.Go(func() {
			a := asked(uint64(i), redis.Take, 1)
			a.Replicas = i % 2
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Millisecond)
			defer cancel()
			begun := time.Now()
			if _, err := c.Ask(ctx, a); err == nil {
				t.Error("a server that is paused has answered")
			}
			if took := time.Since(begun); took > 500*time.Millisecond {
				t.Errorf("a call took %v", took)
			}
		})
	}
	callers.Wait()
}

// TestHasty: callers who have no time to wait are answered in their time, and say nothing about Redis.
func TestHasty(t *testing.T) {
	s := newServer(t).start()
	c := open(t, s.url())
	answered(t, c, 1, redis.Look, 0)
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
		a := asked(1, redis.Look, 1)
		a.Hasty = true
		c.Ask(ctx, a)
		cancel()
	}
	if st := c.Stats()[0]; st.Open || st.Errors[strict.Timeout] == 0 {
		t.Errorf("%+v", st)
	}
}
