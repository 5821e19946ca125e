package middleware_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/transport/headers"
	"github.com/drossel-dev/drossel/transport/middleware"
)

// clock is a decision clock that is set.
type clock struct{ at atomic.Int64 }

func (c *clock) Now() bucket.Instant  { return bucket.Instant(c.at.Load()) }
func (c *clock) set(at time.Duration) { c.at.Store(int64(at)) }
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// request is one of a case: when it comes, and its answer.
type request struct {
	at     float64 // seconds
	status int
	retry  string // Retry-After
	fields string // X-RateLimit-Remaining and -Reset
}

// TestCases: what others have told their clients wrong, as a client sees it of a node.
func TestCases(t *testing.T) {
	for _, tt := range []struct {
		id, limit string
		requests  []request
	}{
		{"C55: not always the whole window", "{rate: 3/min, algorithm: sliding_window}", []request{
			{0, 200, "", "2 60"}, {2, 200, "", "1 60"}, {4, 200, "", "0 60"}, {20, 429, "40", "0 44"},
		}},
		{"C56: a span and no date", "{rate: 1/min, algorithm: fixed_window}", []request{
			{1_700_000_018, 200, "", "0 22"}, {1_700_000_018, 429, "22", "0 22"}, {1_700_000_040, 200, "", "0 60"},
		}},
		{"C58: the obedient get in", "{rate: 3/min, burst: 1}", []request{
			{0, 200, "", "0 20"}, {0.9, 429, "20", "0 20"}, {20.9, 200, "", "0 20"},
		}},
		{"C59: a reset when nothing is left", "{rate: 2/min, algorithm: first_hit_window}", []request{
			{0, 200, "", "1 60"}, {1, 200, "", "0 59"}, {10, 429, "50", "0 50"},
		}},
		{"C61: retry, reset and remaining", "{rate: 3/min, burst: 3}", []request{
			{0, 200, "", "2 20"}, {0, 200, "", "1 40"}, {0, 200, "", "0 60"}, {0, 429, "20", "0 60"},
		}},
		{"C64: the wait is for one token", "{rate: 1/s, burst: 4}", []request{
			{0, 200, "", "3 1"}, {0, 200, "", "2 2"}, {0, 200, "", "1 3"}, {0, 200, "", "0 4"}, {0, 429, "1", "0 4"},
		}},
		{"C65: remaining is what is left, and never negative", "{rate: 2/min, algorithm: fixed_window}", []request{
			{0, 200, "", "1 60"}, {0, 200, "", "0 60"}, {0, 429, "60", "0 60"}, {0, 429, "60", "0 60"},
		}},
	} {
		t.Run(tt.id[:3], func(t *testing.T) {
			now := new(clock)
			h := middleware.New(limiterAt(t, "policies: {p: {key: [ip], limits: ["+tt.limit+"]}}", now), middleware.Options{Policy: "p"})(hello)
			for i, want := range tt.requests {
				now.set(seconds(want.at))
				w := send(h, nil)
				fields := w.Header().Get("X-RateLimit-Remaining") + " " + w.Header().Get("X-RateLimit-Reset")
				if retry := w.Header().Get("Retry-After"); w.Code != want.status || retry != want.retry || fields != want.fields {
					t.Errorf("%s: request %d: %d, Retry-After %q, %s, want %+v", tt.id, i, w.Code, retry, fields, want)
				}
			}
		})
	}
}

// limiterAt starts a node with these policies that decides by a clock.
func limiterAt(t *testing.T, text string, at *clock) *node.Node {
	t.Helper()
	set, err := policy.Parse("test.yaml", []byte("version: 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Policies: set, Clock: at})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// TestC62: a look tells the wait, in all styles, and takes nothing.
func TestC62(t *testing.T) {
	now := new(clock)
	n := limiterAt(t, "policies: {p: {key: [ip], limits: [{rate: 6/min, burst: 1}]}}", now)
	h := middleware.New(n, middleware.Options{Policy: "p"})(hello)
	if w := send(h, nil); w.Code != 200 {
		t.Fatalf("the first take: %d", w.Code)
	}
	now.set(3 * time.Second)
	for range 3 {
		d, err := n.Check(t.Context(), policy.Request{Policy: "p", Key: "192.0.2.1", CheckOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		for _, f := range headers.Fields([]headers.Style{headers.Draft06, headers.OpenAI}, time.Time{}, d) {
			w.Header().Set(f.Name, f.Value)
		}
		headers.Deny(d).Write(w, 0)
		got := w.Header()
		for name, want := range map[string]string{
			"RateLimit-Remaining": "0", "RateLimit-Reset": "7", "Retry-After": "7", "Retry-After-Ms": "7000",
		} {
			if got.Get(name) != want {
				t.Errorf("a look after 3 s: %s is %q, want %s", name, got.Get(name), want)
			}
		}
	}
	now.set(10 * time.Second)
	if w := send(h, nil); w.Code != 200 {
		t.Errorf("after 10 s: %d", w.Code)
	}
}

// TestFallBack: C110. Who has no key may be told by his address instead, if the application says so.
func TestFallBack(t *testing.T) {
	byHeader := middleware.HeaderKey("X-API-Key")
	h := middleware.New(limiterAt(t, "policies: {p: {key: [client], limits: [{rate: 1/h}]}}", new(clock)), middleware.Options{
		Policy: "p",
		Key: func(r *http.Request) (string, error) {
			key, err := byHeader(r)
			if errors.Is(err, middleware.ErrNoKey) {
				return middleware.ClientAddress(r, 0)
			}
			return key, err
		},
	})(hello)
	for i, want := range []struct {
		remote string
		status int
	}{{"192.0.2.1:1", 200}, {"192.0.2.2:1", 200}, {"192.0.2.1:2", 429}} {
		if w := send(h, func(r *http.Request) { r.RemoteAddr = want.remote }); w.Code != want.status {
			t.Errorf("request %d: %d, want %d", i, w.Code, want.status)
		}
	}
}

// TestPrefix: C112. A client that moves within its /64 has one bucket.
func TestPrefix(t *testing.T) {
	h := middleware.New(limiterAt(t, "policies: {p: {key: [ip], limits: [{rate: 5/h}]}}", new(clock)), middleware.Options{Policy: "p"})(hello)
	for i := range 7 {
		remote, want := fmt.Sprintf("[2001:db8:1:2::%x]:80", i+1), 200
		switch i {
		case 5:
			want = 429
		case 6:
			remote = "[2001:db8:1:3::1]:80"
		}
		if w := send(h, func(r *http.Request) { r.RemoteAddr = remote }); w.Code != want {
			t.Errorf("request %d from %s: %d, want %d", i, remote, w.Code, want)
		}
	}
}

// TestShadow: C136. A limit in shadow mode shows, and denies nobody.
func TestShadow(t *testing.T) {
	n := limiterAt(t, "policies: {p: {key: [ip], limits: [{rate: 2/h, shadow: true}]}}", new(clock))
	h := middleware.New(n, middleware.Options{Policy: "p"})(hello)
	would := 0
	for i := range 5 {
		w := send(h, nil)
		if w.Code != 200 || w.Header().Values("Retry-After") != nil || strings.Join(w.Header().Values("RateLimit"), "") != "" {
			t.Errorf("request %d: %d %v", i, w.Code, w.Header())
		}
		if w.Header().Get("X-RateLimit-Shadow") == "denied" {
			would++
		}
	}
	if would != 3 {
		t.Errorf("%d of 5 would have been denied, want 3", would)
	}
}
