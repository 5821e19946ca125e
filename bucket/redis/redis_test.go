package redis

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
)

// server starts a redis-server on a socket, until the test ends, and returns a client of it.
func server(t testing.TB) rueidis.Client {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server: test/run installs it")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it ends with the tests, however these do
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		c, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{socket}, DisableCache: true,
			DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return d.DialContext(ctx, "unix", addr)
			},
		})
		if err == nil {
			t.Cleanup(c.Close)
			return c
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// pair is a group of limits in Redis and in memory, by package bucket.
type pair struct {
	client  rueidis.Client
	script  *rueidis.Lua
	key     string
	memory  Memory
	limits  []bucket.Limit
	now     bucket.Instant
	ops     uint64         // takes and debits
	debited bucket.Instant // when the last of them was a debit that was done, or long ago
	taken   bucket.Instant // when something was taken last
	costs   []int64        // that
	chunk   time.Duration  // for how long
}

func (p *pair) ask(t *rapid.T, do Do, costs []int64) {
	t.Helper()
	a := Ask{Do: do, Limits: p.limits, Costs: costs, Taken: p.taken, Chunk: p.chunk}
	again := false
	switch do {
	case Take, Debit:
		if again = do == Debit && p.ops > 0 && p.now-p.debited < bucket.Instant(time.Minute) && rapid.Bool().Draw(t, "again"); !again {
			p.ops++
		}
		if a.Op = (Op{"n1#5", p.ops, 0}); rapid.Bool().Draw(t, "floor") {
			a.Op.Floor = p.ops - 1
		}
		if a.Chunk = 0; do == Take {
			a.Chunk = time.Duration(whole(int64(10*time.Second)).Draw(t, "chunk"))
		}
	}
	args := a.appendArgs(nil, int64(p.now), int64(p.now)/1000)
	reply, err := p.script.Exec(context.Background(), p.client, []string{p.key}, args).AsIntSlice()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	got, err := a.Read(reply)
	if err != nil {
		t.Fatalf("%v: %v: %v", args, reply, err)
	}
	want, err := p.memory.Ask(p.now, &a)
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	switch {
	case do == Take:
		p.debited = math.MinInt64 / 2
		if want.Decision.Allowed && slices.Max(costs) > 0 {
			p.taken, p.costs, p.chunk = p.now, costs, a.Chunk
		}
	case do == Debit && !again:
		p.debited = p.now
	case do == Give:
		p.costs = nil
	}
	if got != want {
		t.Fatalf("%s %v of %+v:\n%+v, want\n%+v", do, costs, p.limits, got, want)
	}
}

// whole draws numbers of all sizes.
func whole(most int64) *rapid.Generator[int64] {
	return rapid.Custom(func(t *rapid.T) int64 {
		bits := rapid.IntRange(0, 52).Draw(t, "bits")
		return min(most, rapid.Int64Range(0, 1<<bits).Draw(t, "number"))
	})
}

func strictLimit(tag uint64) *rapid.Generator[bucket.Limit] {
	return rapid.Custom(func(t *rapid.T) bucket.Limit {
		for {
			l := bucket.Limit{Algorithm: bucket.Algorithm(rapid.IntRange(0, int(bucket.CalendarWindow)).Draw(t, "algorithm")), Tag: tag}
			l.Burst = whole(maxMicros).Draw(t, "burst")
			if rapid.Bool().Draw(t, "small") {
				l.Burst = rapid.Int64Range(0, 20).Draw(t, "few")
			}
			per := max(1, whole(int64(40*365*24*time.Hour/time.Microsecond)).Draw(t, "per"))
			switch l.Algorithm {
			case bucket.TokenBucket, bucket.Pacer:
				l.Count, l.Per = max(1, whole(bucket.MaxTokens).Draw(t, "count")), time.Duration(per)*time.Duration(rapid.SampledFrom([]int{1, 7, 1000}).Draw(t, "unit"))
				if l.Algorithm == bucket.Pacer {
					l.MaxWait = time.Duration(whole(math.MaxInt64).Draw(t, "wait"))
				}
			case bucket.CalendarWindow:
				l.Count = min(l.Burst, whole(maxMicros).Draw(t, "count"))
				l.Calendar = bucket.Calendar(rapid.IntRange(int(bucket.Minute), int(bucket.Year)).Draw(t, "calendar"))
				l.Zone = rapid.SampledFrom([]string{"", "Europe/Berlin", "Asia/Kolkata"}).Draw(t, "zone")
			default:
				l.Count, l.Per = l.Burst, time.Duration(per)*time.Microsecond
			}
			l = l.Reduced()
			if l.Validate() == nil && WhyNot(&l) == "" {
				return l
			}
		}
	})
}

// TestSameAsBucket plays random sequences through the script and through package bucket: every number of every answer is the same.
func TestSameAsBucket(t *testing.T) {
	client := server(t)
	script := rueidis.NewLuaScript(Script)
	keys := 0
	rapid.Check(t, func(t *rapid.T) {
		var limits []bucket.Limit
		for i := range rapid.IntRange(1, 3).Draw(t, "limits") {
			limits = append(limits, strictLimit(uint64(i)+1).Draw(t, "limit"))
		}
		keys++
		p := &pair{client: client, script: script, key: fmt.Sprint("k", keys), now: bucket.Instant(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC).UnixNano())}
		p.limits = limits
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			step := whole(int64(2*time.Hour/time.Microsecond)).Draw(t, "step")
			if l := limits[rapid.IntRange(0, len(limits)-1).Draw(t, "of")]; rapid.Bool().Draw(t, "to an edge") {
				most := make([]int64, len(limits))
				for i := range most {
					most[i] = max(1, l.Burst)
				}
				r, _ := p.memory.Ask(p.now, &Ask{Do: Look, Limits: limits, Costs: most})
				edge := max(r.Decision.RetryAfter, r.Decision.ResetAfter)
				step = int64(edge/time.Microsecond) + rapid.Int64Range(0, 1).Draw(t, "beyond")
			}
			if step < int64(10*365*24*time.Hour/time.Microsecond) {
				p.now += bucket.Instant(step) * 1000
			}
			if p.now > bucket.Instant(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()) {
				return
			}
			costs := make([]int64, len(limits))
			for i := range costs {
				costs[i] = whole(max(1, limits[i].Burst+1)).Draw(t, "cost")
			}
			do := rapid.SampledFrom([]Do{Take, Take, Take, Look, Debit, Give, Refund}).Draw(t, "do")
			if do == Debit && slices.Max(costs) == 0 { // nobody owes nothing
				continue
			}
			if do == Give {
				if p.costs == nil {
					continue
				}
				costs = p.costs
			}
			p.ask(t, do, costs)
		}
	})
}
