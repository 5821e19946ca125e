package bucket_test

import (
	"fmt"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

func ExampleState() {
	limit := bucket.Limit{Count: 10, Per: time.Second, Burst: 100}
	began := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	at := func(t time.Time) bucket.Instant { return bucket.Instant(t.Sub(began)) }

	s := bucket.Full(&limit, at(began))
	d := s.Take(&limit, at(began), 100)
	fmt.Println("100 at once:", d.Allowed, d.Remaining)

	d = s.Take(&limit, at(began), 5)
	fmt.Println("5 more:", d.Allowed, "retry after", d.RetryAfter)

	d = s.Take(&limit, at(began.Add(500*time.Millisecond)), 5)
	fmt.Println("5 more, then:", d.Allowed, "full after", d.ResetAfter)
	// Output:
	// 100 at once: true 0
	// 5 more: false retry after 500ms
	// 5 more, then: true full after 10s
}

func ExampleState_Look() {
	limit := bucket.Limit{Count: 1, Per: time.Minute, Burst: 3}
	s := bucket.Full(&limit, 0)
	s.Take(&limit, 0, 2)
	d := s.Look(&limit, 0, 3)
	fmt.Println(d.Allowed, d.Remaining, d.RetryAfter)
	// Output: false 1 2m0s
}

func ExampleState_Adopt() {
	old := bucket.Limit{Count: 10, Per: time.Second, Burst: 100}
	smaller := bucket.Limit{Count: 5, Per: time.Second, Burst: 20}
	s := bucket.Full(&old, 0)
	s.Take(&old, 0, 10)

	s.Adopt(&old, &smaller, 0)
	fmt.Println("cut to the smaller burst:", s.Tokens)
	s.Adopt(&smaller, &old, 0)
	fmt.Println("nothing granted by the larger:", s.Tokens)
	// Output:
	// cut to the smaller burst: 20
	// nothing granted by the larger: 20
}

func ExampleLimit_Reduced() {
	limit := bucket.Limit{Count: 600, Per: time.Minute, Burst: 50}
	fmt.Println(limit.Reduced() == bucket.Limit{Count: 1, Per: 100 * time.Millisecond, Burst: 50})
	// Output: true
}

func ExampleLimit_Window() {
	limit := bucket.Limit{Count: 20, Per: time.Second, Burst: 40}
	fmt.Println(limit.Window())
	// Output: 2s
}

// A pacer says when to go: here five a second, and nobody waits for longer than half a second.
func ExampleGroup_pacer() {
	limits := []bucket.Limit{{
		Algorithm: bucket.Pacer, Count: 5, Per: time.Second, MaxWait: 500 * time.Millisecond, Burst: bucket.MaxTokens,
	}}
	g := bucket.Group{Limits: limits, States: make([]bucket.State, 1)}
	now := bucket.Instant(0)
	g.Start(now)
	for range 5 {
		if d, _ := g.Take(now, 1); d.Allowed {
			fmt.Println("go in", d.RetryAfter)
		} else {
			fmt.Println("ask again in", d.RetryAfter)
		}
	}
	// Output:
	// go in 0s
	// go in 200ms
	// go in 400ms
	// ask again in 100ms
	// ask again in 100ms
}

// A monthly quota of 100 in Berlin, of which up to 120 are admitted and marked, beside a sliding window of 80 a minute: both admit, or
// neither is charged.
func ExampleGroup_quota() {
	limits := []bucket.Limit{
		{Algorithm: bucket.CalendarWindow, Calendar: bucket.Month, Zone: "Europe/Berlin", Count: 100, Burst: 120},
		{Algorithm: bucket.SlidingWindow, Count: 80, Per: time.Minute, Burst: 80},
	}
	unix := time.Date(2026, 2, 28, 22, 58, 0, 0, time.UTC) // two minutes before March begins in Berlin
	now := bucket.Instant(unix.UnixNano())
	g := bucket.Group{Limits: limits, States: make([]bucket.State, 2), Log: new(bucket.Log)}
	g.Start(now)
	take := func(cost int64) {
		d, which := g.Take(now, cost)
		fmt.Println(d.Allowed, "by", limits[which].Algorithm, d.Remaining, limits[which].IsOverage(d.Remaining))
	}
	take(70)
	take(20)
	now += bucket.Instant(time.Minute)
	take(40)
	now += bucket.Instant(time.Minute)
	take(10)
	// Output:
	// true by sliding_window 10 false
	// false by sliding_window 10 false
	// true by calendar 10 true
	// true by sliding_window 70 false
}
