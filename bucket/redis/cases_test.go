package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/drossel-dev/drossel/bucket"
)

// store is a server with the script.
type store struct {
	testing.TB
	rueidis.Client
	script *rueidis.Lua
}

func newStore(t testing.TB) *store {
	return &store{t, server(t), rueidis.NewLuaScript(Script)}
}

// ask decides a group of one limit at an instant in seconds, or now if that is negative.
func (s *store) ask(key string, do Do, l bucket.Limit, cost int64, second float64) Reply {
	s.Helper()
	l.Tag = max(l.Tag, 1)
	at := int64(second * 1e6)
	if second >= 0 {
		at += 1_800_000_000_000_000 // a whole hour
	} else {
		at = 0
	}
	r, err := s.play(key, Ask{Do: do, Limits: []bucket.Limit{l}, Costs: []int64{cost}}, time.Now().UnixNano(), at)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

func (s *store) play(key string, a Ask, unix, at int64) (Reply, error) {
	s.Helper()
	reply, err := s.script.Exec(context.Background(), s.Client, []string{key}, a.appendArgs(nil, unix, at)).AsIntSlice()
	if err != nil {
		s.Fatal(err)
	}
	return a.Read(reply)
}

func (s *store) number(args ...string) int64 {
	s.Helper()
	n, err := s.Do(context.Background(), s.B().Arbitrary(args...).Build()).AsInt64()
	if err != nil {
		s.Fatalf("%v: %v", args, err)
	}
	return n
}

// TestC89: nothing is there for ever, whatever was there before, and however many come first.
func TestC89(t *testing.T) {
	s := newStore(t)
	l := bucket.Limit{Algorithm: bucket.FixedWindow, Count: 10, Per: time.Minute, Burst: 10}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { s.ask("first", Take, l, 1, -1) })
	}
	all.Wait()
	if ttl := s.number("PTTL", "first"); ttl <= 0 || ttl > 60_002 {
		t.Errorf("it is there for %d ms more", ttl)
	}
	for name, args := range map[string][]string{
		"text": {"SET", "text", "99"}, "hash": {"HSET", "hash", "x", "99"}, "list": {"RPUSH", "list", "99"},
	} {
		if err := s.Do(t.Context(), s.B().Arbitrary(args...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if r := s.ask(name, Take, l, 1, -1); !r.Decision.Allowed {
			t.Errorf("a stray %s: %+v", name, r.Decision)
		}
		if ttl := s.number("PTTL", name); ttl <= 0 || ttl > 60_002 {
			t.Errorf("a stray %s is there for %d ms more", name, ttl)
		}
	}
}

// TestKeysEndWhenFull: a key lives until its group is as good as new, and no longer; what is denied makes none.
func TestKeysEndWhenFull(t *testing.T) {
	s := newStore(t)
	for name, c := range map[string]struct {
		limit       bucket.Limit
		cost        int64
		least, most int64 // ms
	}{
		"bucket":  {bucket.Limit{Count: 1, Per: time.Second, Burst: 100}, 50, 49_000, 50_001},
		"pacer":   {bucket.Limit{Algorithm: bucket.Pacer, Count: 1, Per: time.Second, Burst: 5}, 3, 2_500, 3_001},
		"log":     {bucket.Limit{Algorithm: bucket.SlidingWindow, Count: 5, Per: time.Minute, Burst: 5}, 2, 59_000, 60_001},
		"count":   {bucket.Limit{Algorithm: bucket.SlidingWindow, Count: 5000, Per: time.Minute, Burst: 5000}, 2, 119_000, 120_001},
		"first":   {bucket.Limit{Algorithm: bucket.FirstHitWindow, Count: 5, Per: time.Minute, Burst: 5}, 2, 59_000, 60_001},
		"fixed":   {bucket.Limit{Algorithm: bucket.FixedWindow, Count: 5, Per: time.Minute, Burst: 5}, 2, 1, 60_001},
		"month":   {bucket.Limit{Algorithm: bucket.CalendarWindow, Calendar: bucket.Month, Count: 5, Burst: 5}, 2, 1, 31 * 86_400_000},
		"denied":  {bucket.Limit{Count: 1, Per: time.Second, Burst: 100}, 101, -2, -2},
		"nothing": {bucket.Limit{Count: 1, Per: time.Second, Burst: 100}, 0, -2, -2},
	} {
		s.ask(name, Take, c.limit, c.cost, -1)
		if ttl := s.number("PTTL", name); ttl < c.least || ttl > c.most {
			t.Errorf("%s is there for %d ms more, want %d to %d", name, ttl, c.least, c.most)
		}
	}
	s.ask("soon", Take, bucket.Limit{Count: 1000, Per: time.Second, Burst: 10}, 1, -1)
	begun := time.Now()
	for s.number("EXISTS", "soon") == 1 {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("a key that is full again is still there")
		}
	}
}

// TestC43: what would be there for longer than can be said is there for as long as can be.
func TestC43(t *testing.T) {
	s := newStore(t)
	l := bucket.Limit{Count: 1, Per: time.Second, Burst: 3_000_000_000}
	for cost, want := range map[int64]int64{2_000_000_001: 2_000_000_001_000, 2_500_000_001: maxMicros / 1000} {
		key := fmt.Sprint("k", cost)
		if r := s.ask(key, Take, l, cost, -1); !r.Decision.Allowed || r.Decision.Remaining != l.Burst-cost {
			t.Errorf("%+v", r.Decision)
		}
		if ttl := s.number("PTTL", key); ttl < want-10_000 || ttl > want+2 {
			t.Errorf("%d taken at one a second: it is there for %d ms, want %d", cost, ttl, want)
		}
	}
}

// TestC53: what is there for a minute is there for 60,000 milliseconds.
func TestC53(t *testing.T) {
	s := newStore(t)
	s.ask("k", Take, bucket.Limit{Algorithm: bucket.FirstHitWindow, Count: 60, Per: time.Minute, Burst: 60}, 1, -1)
	if ttl := s.number("PTTL", "k"); ttl < 50_000 || ttl > 60_002 {
		t.Errorf("it is there for %d ms", ttl)
	}
}

// TestOnce: of a take and a debit of one number, however often and in which order they come, one is done.
func TestOnce(t *testing.T) {
	s := newStore(t)
	l := []bucket.Limit{{Count: 1, Per: 24 * time.Hour, Burst: 100, Tag: 1}}
	do := func(what Do, cost int64, asker string, number, floor uint64, want error, left int64) {
		t.Helper()
		_, err := s.play("k", Ask{Do: what, Limits: l, Costs: []int64{cost}, Op: Op{asker, number, floor}}, 0, 0)
		if err != want {
			t.Errorf("%s %d: %v, want %v", what, number, err, want)
		}
		if r := s.ask("k", Look, l[0], 0, -1); r.Decision.Remaining != left {
			t.Errorf("%s %d: %d are left, want %d", what, number, r.Decision.Remaining, left)
		}
	}
	do(Take, 1, "a", 1, 0, nil, 99)
	do(Debit, 1, "a", 1, 0, nil, 99) // the take was done
	do(Debit, 2, "a", 2, 0, nil, 97) // it was not
	do(Debit, 2, "a", 2, 0, nil, 97)
	do(Take, 2, "a", 2, 0, ErrDone, 97) // it comes late
	do(Take, 98, "a", 3, 0, nil, 97)    // denied
	do(Debit, 7, "a", 3, 0, nil, 90)    // but admitted elsewhere
	do(Take, 1, "b", 1, 0, nil, 89)
	do(Take, 1, "a", 5, 4, nil, 88)
	do(Take, 1, "a", 4, 0, ErrDone, 88) // nobody asks about it any more
	do(Take, 1, "a", 7, 0, nil, 87)
	do(Take, 1, "a", 6, 0, nil, 86)
	do(Debit, 1, "a", 7, 4, nil, 86)
}

// TestChunk: a bucket does not fill up the room of a chunk while that may be spent, so that never more than all of it is there.
func TestChunk(t *testing.T) {
	s := newStore(t)
	l := []bucket.Limit{{Count: 100, Per: time.Second, Burst: 100, Tag: 1}}
	at := func(ms int64, a Ask) int64 {
		t.Helper()
		a.Limits = l
		r, err := s.play("k", a, 0, 1_800_000_000_000_000+ms*1000)
		if err != nil {
			t.Fatal(err)
		}
		return r.Decision.Remaining
	}
	take := Ask{Do: Take, Costs: []int64{40}, Chunk: time.Second}
	if left := at(0, take); left != 60 {
		t.Errorf("%d are left of 100, want 60", left)
	}
	if left := at(500, Ask{Do: Look, Costs: []int64{0}}); left != 60 {
		t.Errorf("half a second later %d are left beside the 40 that are out", left)
	}
	if left := at(500, take); left != 20 {
		t.Errorf("%d are left, want 20", left)
	}
	if left := at(999, Ask{Do: Look, Costs: []int64{0}}); left != 20 {
		t.Errorf("%d are left beside the 80 that are out", left)
	}
	for ms, want := range map[int64]int64{1100: 30, 1499: 60, 1700: 80} {
		if left := at(ms, Ask{Do: Look, Costs: []int64{0}}); left > want {
			t.Errorf("after %d ms %d are there, want %d at the most", ms, left, want)
		}
	}
	if left := at(3000, Ask{Do: Look, Costs: []int64{0}}); left != 100 {
		t.Errorf("%d are there in the end", left)
	}
}

// TestAskersGo: who has not asked for an hour is forgotten when another comes.
func TestAskersGo(t *testing.T) {
	s := newStore(t)
	l := []bucket.Limit{{Count: 1, Per: 24 * time.Hour, Burst: 100, Tag: 13*36 + 3}} // "d3"
	for i, second := range []int64{0, 1800, 3700} {
		a := Ask{Do: Take, Limits: l, Costs: []int64{1}, Op: Op{fmt.Sprint("n", i), 1, 0}}
		if _, err := s.play("k", a, 0, 1_800_000_000_000_000+second*1_000_000); err != nil {
			t.Fatal(err)
		}
	}
	for asker, want := range map[string]int64{"@n0": 0, "@n1": 1, "@n2": 1, "d3": 1} {
		if n := s.number("HEXISTS", "k", asker); n != want {
			t.Errorf("%s: %d, want %d", asker, n, want)
		}
	}
}

// giveLife is for how long what flows may be given back.
const giveLife = 5 * time.Second

// hold takes what may be given back.
func (s *store) hold(key string, l bucket.Limit, cost int64, second float64) {
	s.Helper()
	l.Tag = 1
	at := 1_800_000_000_000_000 + int64(second*1e6)
	if r, err := s.play(key, Ask{Do: Take, Limits: []bucket.Limit{l}, Costs: []int64{cost}, Chunk: giveLife}, at*1000, at); err != nil || !r.Decision.Allowed {
		s.Fatal(r, err)
	}
}

// give gives back what was taken a moment ago, at that second.
func (s *store) give(key string, l bucket.Limit, cost int64, taken, second float64) {
	s.Helper()
	l.Tag = 1
	at := func(second float64) int64 { return 1_800_000_000_000_000 + int64(second*1e6) }
	a := Ask{Do: Give, Limits: []bucket.Limit{l}, Costs: []int64{cost}, Taken: bucket.Instant(at(taken) * 1000), Chunk: giveLife}
	if _, err := s.play(key, a, at(second)*1000, at(second)); err != nil {
		s.Fatal(err)
	}
}

// TestC05: what comes back never makes more than there is room for.
func TestC05(t *testing.T) {
	s := newStore(t)
	for _, l := range []bucket.Limit{
		{Count: 1, Per: 1000 * time.Hour, Burst: 10}, {Algorithm: bucket.FixedWindow, Count: 10, Per: time.Hour, Burst: 10},
		{Algorithm: bucket.FirstHitWindow, Count: 10, Per: time.Hour, Burst: 10}, {Algorithm: bucket.SlidingWindow, Count: 10, Per: time.Hour, Burst: 10},
		{Algorithm: bucket.CalendarWindow, Calendar: bucket.Year, Count: 10, Burst: 10},
	} {
		key := l.Algorithm.String()
		s.hold(key, l, 3, 0)
		s.give(key, l, 10, 0, 0)
		s.give(key, l, 3, 0, 0)
		if r := s.ask(key, Look, l, 0, 0); r.Decision.Remaining != 10 {
			t.Errorf("%v: %d are left of 10", l.Algorithm, r.Decision.Remaining)
		}
	}
}

// TestC07: what comes back after its window has ended does not count in the next.
func TestC07(t *testing.T) {
	s := newStore(t)
	for _, a := range []bucket.Algorithm{bucket.FixedWindow, bucket.FirstHitWindow, bucket.SlidingWindow} {
		l := bucket.Limit{Algorithm: a, Count: 5, Per: time.Minute, Burst: 5}
		s.hold(a.String(), l, 1, 59)
		s.ask(a.String(), Take, l, 1, 121) // the window after, or the one after that
		s.give(a.String(), l, 1, 59, 121)
		allowed := 1
		for range 5 {
			if r := s.ask(a.String(), Take, l, 1, 121); r.Decision.Allowed {
				allowed++
			}
		}
		if allowed != 5 {
			t.Errorf("%v: %d of six are allowed, want 5", a, allowed)
		}
	}
}

// TestC08: what comes back is there though nothing was left.
func TestC08(t *testing.T) {
	s := newStore(t)
	for _, a := range []bucket.Algorithm{bucket.TokenBucket, bucket.FixedWindow, bucket.FirstHitWindow, bucket.SlidingWindow} {
		l := bucket.Limit{Algorithm: a, Count: 10, Per: time.Hour, Burst: 10}
		s.hold(a.String(), l, 10, 0)
		s.give(a.String(), l, 1, 0, 1)
		if r := s.ask(a.String(), Look, l, 0, 1); r.Decision.Remaining != 1 {
			t.Errorf("%v: %d are left, want 1", a, r.Decision.Remaining)
		}
		if one, two := s.ask(a.String(), Take, l, 1, 1), s.ask(a.String(), Take, l, 1, 1); !one.Decision.Allowed || two.Decision.Allowed {
			t.Errorf("%v: %+v, then %+v", a, one.Decision, two.Decision)
		}
	}
}

// TestGivenBackLate: what flows in while something is out is not there twice when it comes back, however late it does.
func TestGivenBackLate(t *testing.T) {
	s := newStore(t)
	for _, l := range []bucket.Limit{
		{Count: 1000, Per: time.Second, Burst: 1000}, {Algorithm: bucket.Pacer, Count: 1000, Per: time.Second, Burst: 999, MaxWait: time.Second},
	} {
		for _, late := range []float64{0.5, 4.9, 5.2} {
			key := fmt.Sprint(l.Algorithm, late)
			s.hold(key, l, 100, 0)
			s.ask(key, Take, l, 900, 0)
			l.Tag = 1
			there := s.ask(key, Look, l, 0, late).Decision.Remaining
			s.ask(key, Take, l, there, late)
			s.give(key, l, 100, 0, late)
			if again := s.ask(key, Look, l, 0, late).Decision.Remaining; there+again > 1000 {
				t.Errorf("%v: %d are there %v s later, and %d more when 100 have come back", l.Algorithm, there, late, again)
			}
		}
	}
}

// TestC91: a window ends though it is used all the time.
func TestC91(t *testing.T) {
	s := newStore(t)
	for _, a := range []bucket.Algorithm{bucket.FixedWindow, bucket.FirstHitWindow} {
		l, allowed := bucket.Limit{Algorithm: a, Count: 10, Per: time.Minute, Burst: 10}, 0
		for second := range 180 {
			if s.ask(a.String(), Take, l, 1, float64(second)).Decision.Allowed {
				allowed++
			}
		}
		if allowed != 30 {
			t.Errorf("%v: %d allowed, want 30", a, allowed)
		}
	}
}

// TestC92: nothing is forgotten before its window ends.
func TestC92(t *testing.T) {
	s := newStore(t)
	l := bucket.Limit{Algorithm: bucket.FirstHitWindow, Count: 5, Per: time.Hour, Burst: 5}
	s.ask("k", Take, l, 5, -1)
	if ttl := s.number("PTTL", "k"); ttl < 3_599_000 {
		t.Errorf("it is there for %d ms", ttl)
	}
	s.ask("v", Take, l, 5, 0)
	for second, want := range map[float64]bool{301: false, 3599.999999: false, 3600: true} {
		if got := s.ask("v", Look, l, 1, second).Decision.Allowed; got != want {
			t.Errorf("after %v s: %v", second, got)
		}
	}
}

// slot is where a key is in a cluster, as the specification of Redis Cluster has it.
func slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}

// TestC94: the part of a key that says where it is in a cluster is the same for a group whatever its policy is called, and never empty.
func TestC94(t *testing.T) {
	if got := slot("123456789"); got != 0x31C3 {
		t.Fatalf("the slot of the specification's example is %x", got)
	}
	for _, policy := range []string{"api", "}x", "{}", "a{b}c"} {
		key := (&Ask{Policy: policy, ID: bucket.ID{Hi: 5, Lo: 7}}).Key()
		if a, b := slot(key), slot("00000000000000050000000000000007"); a != b {
			t.Errorf("%s is in slot %d, want %d", key, a, b)
		}
	}
}

// TestC95: and it spreads.
func TestC95(t *testing.T) {
	slots := map[int]bool{}
	for i := range uint64(10_000) {
		slots[slot((&Ask{Policy: "api", ID: bucket.ID{Hi: i, Lo: i * i}}).Key())] = true
	}
	if len(slots) < 7000 {
		t.Errorf("10,000 keys are in %d slots", len(slots))
	}
}

// TestC98: the script touches no key that it was not given.
func TestC98(t *testing.T) {
	for _, line := range strings.Split(Script, "\n") {
		code, _, _ := strings.Cut(line, "--")
		if strings.Contains(code, "call(") && !strings.Contains(code, `"TIME"`) && !strings.Contains(code, "KEYS[1]") {
			t.Errorf("a command without the key: %s", line)
		}
	}
	s := newStore(t)
	before := s.number("DBSIZE")
	s.ask("only", Take, bucket.Limit{Count: 1, Per: time.Hour, Burst: 5}, 1, -1)
	if after := s.number("DBSIZE"); after != before+1 {
		t.Errorf("%d keys more", after-before)
	}
}

// TestExactly: of many callers at once exactly as many are admitted as there may be, though the server forgets the script time and again.
func TestExactly(t *testing.T) {
	s := newStore(t)
	l := bucket.Limit{Count: 1, Per: 24 * time.Hour, Burst: 1000}
	var allowed [64]int
	var callers sync.WaitGroup
	for i := range allowed {
		callers.Go(func() {
			for j := range 40 {
				if s.ask("k", Take, l, 1, -1).Decision.Allowed {
					allowed[i]++
				}
				if i == 0 && j%5 == 0 {
					s.Do(context.Background(), s.B().ScriptFlush().Build())
				}
			}
		})
	}
	callers.Wait()
	sum := 0
	for _, n := range allowed {
		sum += n
	}
	if sum != 1000 {
		t.Errorf("%d of %d are admitted, want 1000", sum, 40*len(allowed))
	}
}

// TestClockSetBack: time that runs backwards gives nothing back.
func TestClockSetBack(t *testing.T) {
	s := newStore(t)
	l := bucket.Limit{Count: 1, Per: time.Second, Burst: 10}
	s.ask("k", Take, l, 10, 100)
	if r := s.ask("k", Take, l, 1, 50); r.Decision.Allowed || r.Decision.RetryAfter != time.Second {
		t.Errorf("%+v", r.Decision)
	}
	if r := s.ask("k", Take, l, 1, 101); !r.Decision.Allowed || r.Decision.Remaining != 0 {
		t.Errorf("%+v", r.Decision)
	}
}

// TestChange: limits that change keep what was taken, as bucket.Group.Adopt says.
func TestChange(t *testing.T) {
	s := newStore(t)
	bucketOf := func(burst int64) bucket.Limit { return bucket.Limit{Count: 1, Per: time.Hour, Burst: burst} }
	windowOf := func(a bucket.Algorithm, burst int64) bucket.Limit {
		return bucket.Limit{Algorithm: a, Count: burst, Per: time.Hour, Burst: burst}
	}
	for i, c := range []struct {
		old, next bucket.Limit
		taken     int64
		left      int64
	}{
		{bucketOf(10), bucketOf(20), 3, 7},
		{bucketOf(10), bucketOf(5), 3, 5},
		{bucketOf(10), bucketOf(5), 8, 2},
		{bucket.Limit{Count: 7, Per: time.Hour, Burst: 10}, bucketOf(10), 3, 7},
		{windowOf(bucket.FixedWindow, 10), windowOf(bucket.FixedWindow, 20), 3, 17},
		{windowOf(bucket.FixedWindow, 10), windowOf(bucket.FixedWindow, 2), 3, 0},
		{windowOf(bucket.SlidingWindow, 10), windowOf(bucket.SlidingWindow, 20), 3, 17},
		{windowOf(bucket.SlidingWindow, 10), windowOf(bucket.SlidingWindow, 2000), 3, 1997},
		{windowOf(bucket.SlidingWindow, 2000), windowOf(bucket.SlidingWindow, 20), 3, 17},
		{windowOf(bucket.SlidingWindow, 2000), windowOf(bucket.SlidingWindow, 3000), 3, 2997},
		{bucketOf(10), windowOf(bucket.FirstHitWindow, 20), 3, 17},
		{windowOf(bucket.FirstHitWindow, 20), bucketOf(10), 15, 0},
		{bucket.Limit{Algorithm: bucket.CalendarWindow, Calendar: bucket.Day, Count: 10, Burst: 10}, bucketOf(10), 3, 7},
		{bucketOf(10), bucket.Limit{Algorithm: bucket.CalendarWindow, Calendar: bucket.Day, Count: 10, Burst: 10}, 3, 7},
		{bucket.Limit{Algorithm: bucket.CalendarWindow, Calendar: bucket.Day, Count: 10, Burst: 10},
			bucket.Limit{Algorithm: bucket.CalendarWindow, Calendar: bucket.Month, Count: 9, Burst: 9}, 3, 6},
	} {
		key := fmt.Sprint("k", i)
		s.ask(key, Take, c.old, c.taken, -1)
		want := bucket.Group{Limits: []bucket.Limit{c.old}, States: make([]bucket.State, 1), Log: new(bucket.Log)}
		now := bucket.Instant(time.Now().UnixNano())
		want.Start(now)
		want.Take(now, c.taken)
		want.Adopt([]bucket.Limit{c.next}, now)
		left, _ := want.Look(now, 0)
		if r := s.ask(key, Look, c.next, 0, -1); r.Decision.Remaining != c.left || left.Remaining != c.left {
			t.Errorf("%d of %+v taken, now %+v: %d left, in memory %d, want %d", c.taken, c.old, c.next, r.Decision.Remaining, left.Remaining, c.left)
		}
	}
}

// TestOwedByOldLimits: what comes back, or is owed, by limits that are no more changes nothing of those that are.
func TestOwedByOldLimits(t *testing.T) {
	s := newStore(t)
	old := bucket.Limit{Count: 10_000, Per: time.Second, Burst: 1000, Tag: 1}
	now := bucket.Limit{Count: 1000, Per: 24 * time.Hour, Burst: 1000, Tag: 1}
	r := s.ask("k", Take, old, 100, -1)
	s.ask("k", Take, now, 900, -1)
	left := s.ask("k", Look, now, 0, -1).Decision.Remaining
	for _, a := range []Ask{{Do: Give, Costs: []int64{100}, Taken: r.At}, {Do: Debit, Costs: []int64{5}}} {
		a.Limits = []bucket.Limit{old}
		if _, err := s.play("k", a, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.ask("k", Look, now, 0, -1); r.Decision.Remaining > left {
		t.Errorf("%+v", r.Decision)
	}
	if ttl := s.number("PTTL", "k"); ttl < 3600_000 {
		t.Errorf("it is there for %d ms more", ttl)
	}
}

// TestTagsStay: what was taken stays with the tag of a limit, wherever it stands; a new one begins full.
func TestTagsStay(t *testing.T) {
	s := newStore(t)
	limits := func(tags ...uint64) (all []bucket.Limit) {
		for _, tag := range tags {
			all = append(all, bucket.Limit{Count: 1, Per: time.Hour, Burst: 10 * int64(tag), Tag: tag})
		}
		return all
	}
	ask := func(l []bucket.Limit, costs ...int64) Reply {
		t.Helper()
		r, err := s.play("k", Ask{Do: Take, Limits: l, Costs: costs}, time.Now().UnixNano(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ask(limits(1, 2), 4, 5)
	if r := ask(limits(2), 1); r.Decision.Remaining != 14 {
		t.Errorf("%+v, want 14 of 20", r.Decision)
	}
	if r := ask(limits(3, 1), 1, 1); r.Which != 1 || r.Decision.Remaining != 5 {
		t.Errorf("%+v, want 5 of the limit that was away", r)
	}
}

func TestWhyNot(t *testing.T) {
	for _, c := range []struct {
		limit bucket.Limit
		why   string
	}{
		{bucket.Limit{Count: 1, Per: time.Nanosecond, Burst: 1}, ""},
		{bucket.Limit{Count: 999_983, Per: 365 * 24 * time.Hour, Burst: 1_000_000}, ""},
		{bucket.Limit{Burst: 0}, ""},
		{bucket.Limit{Burst: 5}, "for ever"},
		{bucket.Limit{Count: 1, Per: time.Second, Burst: bucket.MaxTokens}, "at a time"},
		{bucket.Limit{Algorithm: bucket.FixedWindow, Count: 1, Per: time.Microsecond + 1, Burst: 1}, "microseconds"},
		{bucket.Limit{Algorithm: bucket.SlidingWindow, Count: 1, Per: 80 * 365 * 24 * time.Hour, Burst: 1}, "71 years"},
		{bucket.Limit{Count: 1, Per: 80 * 365 * 24 * time.Hour, Burst: 1}, "rounder"},
		{bucket.Limit{Count: bucket.MaxTokens - 1, Per: 1 << 40, Burst: 1}, "rounder"},
	} {
		if why := WhyNot(&c.limit); (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%+v: %q, want %q", c.limit, why, c.why)
		}
	}
}

// TestOtherTime: a caller whose clock is years off is told so, and nothing is taken.
func TestOtherTime(t *testing.T) {
	s := newStore(t)
	l := []bucket.Limit{{Algorithm: bucket.CalendarWindow, Calendar: bucket.Hour, Count: 5, Burst: 5, Tag: 1}}
	costs := []int64{1}
	off := time.Now().Add(-1000 * time.Hour).UnixNano()
	for _, unix := range []int64{off, 0} {
		r, err := s.play("k", Ask{Do: Take, Limits: l, Costs: costs}, unix, 0)
		if err != ErrOtherTime {
			t.Fatalf("%+v, %v", r, err)
		}
		if r, err = s.play("k", Ask{Do: Look, Limits: l, Costs: costs}, int64(r.At), 0); err != nil || r.Decision.Remaining != 5 {
			t.Errorf("%+v, %v: something was taken", r, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{1, 100, 2, 5, 0}, uint8(0))
	f.Add([]byte{0, 100, 4, 90, 3, 95, 2}, uint8(2))
	f.Fuzz(func(t *testing.T, raw []byte, algorithm uint8) {
		reply := make([]int64, 0, len(raw))
		for _, b := range raw {
			reply = append(reply, int64(int8(b)))
		}
		l := bucket.Limit{Algorithm: bucket.Algorithm(algorithm % 6), Count: 5, Per: time.Microsecond, Burst: 5, Tag: 1}
		if l.Algorithm == bucket.CalendarWindow {
			l.Per, l.Calendar = 0, bucket.Day
		}
		for _, do := range []Do{Take, Look, Debit} {
			a := Ask{Do: do, Limits: []bucket.Limit{l}, Costs: []int64{2}}
			if r, err := a.Read(reply); err == nil && r.Decision.Remaining > bucket.MaxTokens {
				t.Fatalf("%+v", r)
			}
		}
	})
}
