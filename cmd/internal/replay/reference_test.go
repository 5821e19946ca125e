package replay_test

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/replay"
	"github.com/drossel-dev/drossel/cmd/internal/weblog"
)

const (
	small  = "../../../test/data/small.log"
	access = "../../../../shared/data/access.log.gz"
)

// buckets is a Limiter over one bucket per value of the attribute that it is keyed by.
type buckets struct {
	limit bucket.Limit
	by    string
	held  map[string]*bucket.State
}

func newBuckets(limit bucket.Limit, by string) *buckets {
	return &buckets{limit: limit, by: by, held: map[string]*bucket.State{}}
}

func (b *buckets) Check(_ context.Context, at time.Time, req policy.Request) (policy.Decision, error) {
	now := bucket.Instant(at.UnixNano())
	key := req.Attributes[b.by]
	if b.held[key] == nil {
		s := bucket.Full(&b.limit, now)
		b.held[key] = &s
	}
	d := b.held[key].Take(&b.limit, now, 1)
	return policy.Decision{Allowed: d.Allowed, Remaining: d.Remaining}, nil
}

// reference counts by the definition of a token bucket, in fractions, one key at a time over the whole log.
func reference(web *weblog.Log, limit bucket.Limit, by string) (want replay.Report) {
	perNano := big.NewRat(limit.Count, int64(limit.Per))
	burst := big.NewRat(limit.Burst, 1)
	one := big.NewRat(1, 1)
	arrivals := map[string][]time.Time{}
	for _, e := range web.Entries {
		if key := e.Attributes()[by]; key != "" {
			arrivals[key] = append(arrivals[key], e.At)
		}
	}
	for key, times := range arrivals {
		count := replay.KeyCount{Key: key}
		if strings.Contains(key, `"`) {
			count.Key = strconv.Quote(key)
		}
		level, last := new(big.Rat).Set(burst), times[0]
		for _, at := range times {
			arrived := new(big.Rat).Mul(perNano, big.NewRat(int64(at.Sub(last)), 1))
			last = at
			if level.Add(level, arrived).Cmp(burst) > 0 {
				level.Set(burst)
			}
			if level.Cmp(one) >= 0 {
				level.Sub(level, one)
				count.Admitted++
			} else {
				count.Denied++
			}
		}
		want.Keys++
		want.Admitted += count.Admitted
		want.Denied += count.Denied
		if count.Denied > 0 {
			want.DeniedKeys++
			want.Top = append(want.Top, count)
		}
	}
	slices.SortFunc(want.Top, func(a, b replay.KeyCount) int {
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), strings.Compare(a.Key, b.Key))
	})
	want.Requests = want.Admitted + want.Denied
	want.NoKey = int64(len(web.Entries)) - want.Requests
	return want
}

// compare replays the log and fails the test if the report is not that of the reference.
func compare(t *testing.T, web *weblog.Log, limit bucket.Limit, by string) *replay.Report {
	t.Helper()
	opt := replay.Options{Policy: "p", Key: []string{by}, Top: 1 << 20}
	r, err := replay.Run(t.Context(), web, newBuckets(limit, by), opt)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	got := replay.Report{
		Requests: r.Requests, Admitted: r.Admitted, Denied: r.Denied, NoKey: r.NoKey, Keys: r.Keys, DeniedKeys: r.DeniedKeys,
		Top: r.Top,
	}
	if diff := godiff.Diff(reference(web, limit, by), got); diff != "" {
		t.Errorf("limit %+v by %s (-reference +replay):\n%s", limit, by, diff)
	}
	var slots replay.SlotCount
	for _, s := range r.Timeline.Slots {
		slots.Admitted += s.Admitted
		slots.Denied += s.Denied
	}
	if slots.Admitted != r.Admitted || slots.Denied != r.Denied {
		t.Errorf("timeline has %+v, want %d admitted and %d denied", slots, r.Admitted, r.Denied)
	}
	return r
}

func TestSmallLogAgainstReference(t *testing.T) {
	web, err := weblog.ReadFile(small, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"ip", "user", "path", "method", "status", "agent"} {
		for _, limit := range []bucket.Limit{
			{Count: 10, Per: time.Minute, Burst: 5},
			{Count: 1, Per: 7 * time.Second, Burst: 1},
			{Count: 3, Per: 10 * time.Second, Burst: 2},
			{Count: 0, Per: 1, Burst: 4},
			{Count: 5, Per: time.Second, Burst: 0},
		} {
			compare(t, web, limit, by)
		}
	}
}

func TestRandomLogsAgainstReference(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 7))
		web, err := weblog.Read(strings.NewReader(randomLog(random, 400)))
		if err != nil || web.Skipped != 0 {
			t.Fatalf("seed %d: %v, %d lines skipped", seed, err, web.Skipped)
		}
		limit := bucket.Limit{
			Count: 1 + random.Int64N(20), Per: time.Duration(1 + random.Int64N(int64(time.Minute))), Burst: random.Int64N(12),
		}
		compare(t, web, limit, "ip")
		compare(t, web, limit, "user")
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// randomLog returns lines in no order, bursts and pauses, two zones, few keys and many requests without a user.
func randomLog(random *rand.Rand, lines int) string {
	var b strings.Builder
	at := time.Date(2026, 2, 28, 23, 59, 0, 0, time.UTC)
	for range lines {
		at = at.Add(time.Duration(random.IntN(8)-2) * time.Second)
		if random.IntN(50) == 0 {
			at = at.Add(time.Duration(random.IntN(3600)) * time.Second)
		}
		zone := time.FixedZone("", random.IntN(2)*5400)
		fmt.Fprintf(&b, "192.0.2.%d - %s [%s] \"GET /%d HTTP/1.1\" 200 17\n", random.IntN(5),
			[]string{"-", "alice", "bob"}[random.IntN(3)], at.In(zone).Format("02/Jan/2006:15:04:05 -0700"), random.IntN(3))
	}
	return b.String()
}

func TestAccessLogAgainstReference(t *testing.T) {
	if _, err := os.Stat(access); err != nil {
		t.Skip("no real log here")
	}
	web, err := weblog.ReadFile(access, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := compare(t, web, bucket.Limit{Count: 100, Per: time.Hour, Burst: 20}, "ip")
	if r.Requests != 10000 || r.Admitted != 9129 || r.Denied != 871 || r.DeniedKeys != 48 {
		t.Errorf("%d requests, %d admitted, %d denied, %d keys denied; want 10000, 9129, 871, 48", r.Requests, r.Admitted,
			r.Denied, r.DeniedKeys)
	}
	r.Top = r.Top[:10]
	var b strings.Builder
	if err := r.WriteText(&b, 100); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", b.String())
}
