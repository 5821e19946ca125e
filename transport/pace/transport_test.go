package pace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/bucket/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is what a server says to a request.
type answer struct {
	status int
	h      http.Header
}

// server is a Base that gives its answers one after the other, and then 200. It remembers what it was sent, and when.
type server struct {
	mu      sync.Mutex
	begun   time.Time
	answers []answer
	sent    []time.Duration // since begun
	bodies  []string
	open    int // responses whose body is not closed
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, time.Since(s.begun))
	s.bodies = append(s.bodies, string(body))
	a := answer{status: 200}
	if len(s.answers) > 0 {
		a, s.answers = s.answers[0], s.answers[1:]
	}
	if a.h == nil {
		a.h = make(http.Header)
	}
	s.open++
	return &http.Response{StatusCode: a.status, Header: a.h, Body: &page{Reader: strings.NewReader("page"), s: s}, Request: req}, nil
}

// page is the body of a response. Whoever is done with one has read and closed it.
type page struct {
	*strings.Reader
	s *server
}

func (p *page) Close() error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.open--
	return nil
}

// denying is a server that says no so many times, each time for a number of seconds.
func denying(status int, times int, seconds string) *server {
	s := &server{begun: time.Now()}
	for range times {
		s.answers = append(s.answers, answer{status, header("Retry-After", seconds)})
	}
	return s
}

// request makes a request whose body, if there is one, can be had again.
func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// send sends a request and returns the status of the answer, 0 with an error.
func send(tr *Transport, req *http.Request) (int, error) {
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Body.Close()
}

// between says whether a wait is what was asked for, or up to a quarter more.
func between(got, asked time.Duration) bool { return got >= asked && got <= asked+asked/4 }

// TestObeys: after a denial nothing goes to that host before it said, and everything to others.
func TestObeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := denying(429, 1, "8")
		tr := &Transport{Base: s}
		for i, want := range []int{429, 200, 200} {
			if got, err := send(tr, request(t, "GET", "http://a.example/"+fmt.Sprint(i), "")); got != want || err != nil {
				t.Errorf("request %d: %d, %v, want %d", i, got, err, want)
			}
			if got, err := send(tr, request(t, "GET", "http://b.example/", "")); got != 200 || err != nil {
				t.Errorf("another host: %d, %v", got, err)
			}
		}
		if len(s.sent) != 6 || s.sent[1] != 0 || !between(s.sent[2], 8*time.Second) || s.sent[2] != s.sent[5] {
			t.Errorf("sent after %v, want two at once, and the rest after 8 s", s.sent)
		}
		if s.open != 0 {
			t.Errorf("%d bodies are open", s.open)
		}
	})
}

// TestTooLong: a request that would have to wait longer than it may fails at once, and is not sent.
func TestTooLong(t *testing.T) {
	tests := []struct {
		name    string
		maxWait time.Duration
		timeout time.Duration // of the context; 0 is none
		seconds string
		waits   bool
	}{
		{"within", 10 * time.Second, 0, "10", true},
		{"beyond MaxWait", 10 * time.Second, 0, "11", false},
		{"beyond the deadline", 10 * time.Second, 4 * time.Second, "5", false},
		{"none waits", -1, 0, "1", false},
		{"hostile", time.Minute, 0, "1000000000000000000", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := denying(503, 1, tt.seconds)
				tr := &Transport{Base: s, Options: Options{MaxWait: tt.maxWait}}
				send(tr, request(t, "GET", "http://a.example/", ""))
				begun := time.Now()
				closed := false
				req := request(t, "POST", "http://a.example/", "x")
				req.Body = &closing{Reader: strings.NewReader("x"), closed: &closed}
				if tt.timeout > 0 {
					ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
					defer cancel()
					req = req.WithContext(ctx)
				}
				got, err := send(tr, req)
				var limited *LimitedError
				switch {
				case !closed:
					t.Error("the body of the request is not closed")
				case tt.waits && (got != 200 || err != nil):
					t.Errorf("%d, %v, want it to be sent", got, err)
				case !tt.waits && (!errors.As(err, &limited) || !errors.Is(err, ErrLimited) || !limited.ByServer || limited.Decision.RetryAfter <= 0):
					t.Errorf("%d, %v, want ErrLimited", got, err)
				case !tt.waits && (time.Since(begun) != 0 || len(s.sent) != 1):
					t.Errorf("failed after %v with %d requests sent, want at once and one", time.Since(begun), len(s.sent))
				}
			})
		})
	}
}

// closing says when it was closed.
type closing struct {
	io.Reader
	closed *bool
}

func (c *closing) Close() error { *c.closed = true; return nil }

// TestBelievedForAnHour: a server that asks for an eternity gets a request after an hour.
func TestBelievedForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := denying(429, 1, strings.Repeat("9", 30))
		tr := &Transport{Base: s}
		send(tr, request(t, "GET", "http://a.example/", ""))
		time.Sleep(time.Hour - time.Minute)
		if _, err := send(tr, request(t, "GET", "http://a.example/", "")); !errors.Is(err, ErrLimited) {
			t.Errorf("before an hour: %v, want ErrLimited", err)
		}
		time.Sleep(time.Minute)
		if got, err := send(tr, request(t, "GET", "http://a.example/", "")); got != 200 {
			t.Errorf("after an hour: %d, %v", got, err)
		}
	})
}

// TestAgain: which denied requests are sent again.
func TestAgain(t *testing.T) {
	key := http.Header{"Idempotency-Key": {"1"}}
	tests := []struct {
		name   string
		method string
		body   string
		h      http.Header
		once   bool // the body can be read only once
		status int
		denied int // how many times
		most   int
		sent   int
		want   int
	}{
		{"GET", "GET", "", nil, false, 429, 1, 3, 2, 200},
		{"not asked for", "GET", "", nil, false, 429, 1, 0, 1, 429},
		{"once in all", "GET", "", nil, false, 429, 1, 1, 1, 429},
		{"denied each time", "GET", "", nil, false, 429, 9, 3, 3, 429},
		{"POST refused for its quota", "POST", "x", nil, false, 429, 2, 3, 3, 200},
		{"POST of which something may be done", "POST", "x", nil, false, 503, 1, 3, 1, 503},
		{"POST that says it is the same", "POST", "x", key, false, 503, 1, 3, 2, 200},
		{"PUT", "PUT", "x", nil, false, 503, 1, 3, 2, 200},
		{"a body that is gone", "PUT", "x", nil, true, 429, 1, 3, 1, 429},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := denying(tt.status, tt.denied, "2")
				tr := &Transport{Base: s, Options: Options{MaxAttempts: tt.most}}
				req := request(t, tt.method, "http://a.example/", tt.body)
				if tt.h != nil {
					req.Header = tt.h
				}
				if tt.once {
					req.GetBody = nil
				}
				before := req.Clone(t.Context())
				got, err := send(tr, req)
				if got != tt.want || err != nil || len(s.sent) != tt.sent || s.open != 0 {
					t.Errorf("%d, %v, sent %d times, %d bodies open; want %d, %d times", got, err, len(s.sent), s.open, tt.want, tt.sent)
				}
				for i, body := range s.bodies {
					if body != tt.body {
						t.Errorf("body %d is %q", i, body)
					}
				}
				for i := 1; i < len(s.sent); i++ {
					if !between(s.sent[i]-s.sent[i-1], 2*time.Second) {
						t.Errorf("sent after %v, want 2 s between", s.sent)
					}
				}
				if req.URL.String() != before.URL.String() || len(req.Header) != len(before.Header) || req.Method != before.Method {
					t.Error("the request has changed")
				}
			})
		})
	}
}

// TestAgainTooLate: a retry that would be beyond MaxWait is not waited for, and the denial is the answer.
func TestAgainTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := denying(429, 9, "4")
		tr := &Transport{Base: s, Options: Options{MaxAttempts: 9, MaxWait: 10 * time.Second}}
		got, err := send(tr, request(t, "GET", "http://a.example/", ""))
		if got != 429 || err != nil || len(s.sent) != 3 || s.sent[2] > 10*time.Second {
			t.Errorf("%d, %v, sent after %v; want 429, and three within 10 s", got, err, s.sent)
		}
	})
}

// TestAtOnce: a server that denies and says "at once" is not hammered.
func TestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := denying(429, 3, "0")
		got, err := send(&Transport{Base: s, Options: Options{MaxAttempts: 4}}, request(t, "GET", "http://a.example/", ""))
		if got != 200 || err != nil || len(s.sent) != 4 || s.sent[3] < 3*least {
			t.Errorf("%d, %v, sent after %v", got, err, s.sent)
		}
	})
}

// TestGone: who waits is free as soon as its context is done.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := denying(429, 1, "8")
		tr := &Transport{Base: s}
		send(tr, request(t, "GET", "http://a.example/", ""))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begun := time.Now()
		_, err := send(tr, request(t, "GET", "http://a.example/", "").WithContext(ctx))
		if !errors.Is(err, context.Canceled) || time.Since(begun) != time.Second || len(s.sent) != 1 {
			t.Errorf("%v after %v with %d sent", err, time.Since(begun), len(s.sent))
		}
	})
}

// C151: those who were told the same instant do not return in it.
func TestNoHerd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := denying(429, 1, "8")
		tr := &Transport{Base: s}
		send(tr, request(t, "GET", "http://a.example/", ""))
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if got, err := send(tr, request(t, "GET", "http://a.example/", "")); got != 200 {
					t.Errorf("%d, %v", got, err)
				}
			})
		}
		all.Wait()
		instants := make(map[time.Duration]bool)
		for _, after := range s.sent[1:] {
			instants[after] = true
			if !between(after, 8*time.Second) {
				t.Errorf("sent after %v, want 8 to 10 s", after)
			}
		}
		if len(instants) < 40 {
			t.Errorf("50 requests went at %d instants", len(instants))
		}
	})
}

// checker is a Checker made of a function.
type checker func(context.Context, policy.Request) (policy.Decision, error)

func (c checker) Check(ctx context.Context, req policy.Request) (policy.Decision, error) {
	return c(ctx, req)
}

// TestLimiter: a limit of one's own is waited for, under the key of the place.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{begun: time.Now()}
		var next time.Time // one in five seconds
		lim := checker(func(_ context.Context, req policy.Request) (policy.Decision, error) {
			if req.Policy != "out" || req.Key != "https://a.example:8443" {
				t.Errorf("asked for %+v", req)
			}
			if wait := time.Until(next); wait > 0 {
				return policy.Decision{RetryAfter: wait, Policy: "out", LimitName: "slow"}, nil
			}
			next = time.Now().Add(5 * time.Second)
			return policy.Decision{Allowed: true}, nil
		})
		tr := &Transport{Base: s, Options: Options{Limiter: lim, Policy: "out", MaxWait: 7 * time.Second}}
		for range 3 {
			if got, err := send(tr, request(t, "GET", "https://A.example:8443/x", "")); got != 200 {
				t.Errorf("%d, %v", got, err)
			}
		}
		if !between(s.sent[1], 5*time.Second) || !between(s.sent[2]-s.sent[1], 5*time.Second) {
			t.Errorf("sent after %v, want 5 s between", s.sent)
		}
		tr.MaxWait = time.Second
		_, err := send(tr, request(t, "GET", "https://a.example:8443/x", ""))
		var limited *LimitedError
		if !errors.As(err, &limited) || limited.ByServer || limited.Decision.LimitName != "slow" || !strings.Contains(err.Error(), `"slow"`) {
			t.Errorf("%v, want a LimitedError with the decision", err)
		}
	})
}

// C20: what can never go fails at once. C10: nobody is asked for a request whose caller has gone.
func TestNotAskedInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := &server{begun: time.Now()}
		tr := &Transport{Base: s, Options: Options{Limiter: checker(func(context.Context, policy.Request) (policy.Decision, error) {
			asked++
			return policy.Decision{Never: true, Policy: "out", LimitName: "slow"}, nil
		})}}
		_, err := send(tr, request(t, "GET", "http://a.example/", ""))
		if !errors.Is(err, ErrLimited) || time.Since(s.begun) != 0 || len(s.sent) != 0 || !strings.Contains(err.Error(), "does not help") {
			t.Errorf("C20: %v after %v", err, time.Since(s.begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = send(tr, request(t, "GET", "http://a.example/", "").WithContext(ctx))
		if !errors.Is(err, context.Canceled) || asked != 1 || len(s.sent) != 0 {
			t.Errorf("C10: %v, asked %d times", err, asked)
		}
	})
}

// TestPacerTurn: what a pacer admits for later goes then, and not a moment later.
func TestPacerTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{begun: time.Now()}
		tr := &Transport{Base: s, Options: Options{Limiter: checker(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Allowed: true, RetryAfter: 3 * time.Second}, nil
		})}}
		if got, err := send(tr, request(t, "GET", "http://a.example/", "")); got != 200 || s.sent[0] != 3*time.Second {
			t.Errorf("%d, %v, sent after %v", got, err, s.sent)
		}
		tr.MaxWait = time.Second
		if _, err := send(tr, request(t, "GET", "http://a.example/", "")); !errors.Is(err, ErrLimited) || len(s.sent) != 1 {
			t.Errorf("%v, want ErrLimited", err)
		}
	})
}

// TestClosedMeanwhile: a place that closes while a request waits for its own limit holds it back as well.
func TestClosedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{begun: time.Now()}
		tr := &Transport{Base: s, Options: Options{Limiter: checker(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Allowed: true, RetryAfter: 3 * time.Second}, nil
		})}}
		time.AfterFunc(time.Second, func() { tr.gate.close("http://a.example", s.begun.Add(5*time.Second), time.Now()) })
		if got, err := send(tr, request(t, "GET", "http://a.example/", "")); got != 200 || !between(s.sent[0], 5*time.Second) {
			t.Errorf("%d, %v, sent after %v, want 5 s", got, err, s.sent)
		}
	})
}

// TestGivesBack: what was taken for a request that is not sent is given back, once; what was admitted by rule is not.
func TestGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, refunds := policy.Decision{Allowed: true, RetryAfter: 3 * time.Second}, 0
		tr := &Transport{Base: &server{begun: time.Now()}, Options: Options{MaxWait: 4 * time.Second, Policy: "out", Limiter: checker(
			func(ctx context.Context, req policy.Request) (policy.Decision, error) {
				if req.Refund {
					if refunds++; ctx.Err() != nil || req.Policy != "out" || req.Key != "http://a.example" {
						t.Errorf("%+v, %v", req, ctx.Err())
					}
				}
				return d, nil
			})}}
		for i, tt := range []struct {
			id      string
			wait    time.Duration
			begin   func(cancel func())
			by      bool
			refunds int
		}{
			{"sent", 3 * time.Second, func(func()) {}, false, 0},
			{"too far away", 5 * time.Second, func(func()) {}, false, 1},
			{"too far away, by rule", 5 * time.Second, func(func()) {}, true, 0},
			{"left", 3 * time.Second, func(cancel func()) { time.AfterFunc(time.Second, cancel) }, false, 1},
			{"closed meanwhile", 3 * time.Second, func(func()) {
				time.AfterFunc(time.Second, func() { tr.gate.close("http://a.example", time.Now().Add(time.Minute), time.Now()) })
			}, false, 1},
		} {
			refunds, d.RetryAfter, d.Degraded = 0, tt.wait, tt.by
			ctx, cancel := context.WithCancel(t.Context())
			tt.begin(cancel)
			_, err := send(tr, request(t, "GET", "http://a.example/", "").WithContext(ctx))
			if (err == nil) != (i == 0) || refunds != tt.refunds {
				t.Errorf("%s: %v, given back %d times, want %d", tt.id, err, refunds, tt.refunds)
			}
			cancel()
		}
	})
}

// TestUndecided: a limiter that fails does not stop what the server limits anyway; one that is asked wrongly does.
func TestUndecided(t *testing.T) {
	own := errors.New("own")
	for name, tt := range map[string]struct {
		err     error
		onError func(context.Context, error) error
		want    error
	}{
		"down":           {policy.ErrUnavailable, nil, nil},
		"asked wrongly":  {policy.ErrInvalid, nil, policy.ErrInvalid},
		"unknown policy": {policy.ErrUnknownPolicy, nil, policy.ErrUnknownPolicy},
		"own way":        {policy.ErrUnavailable, func(context.Context, error) error { return own }, own},
		"own way, sent":  {policy.ErrInvalid, func(context.Context, error) error { return nil }, nil},
	} {
		s := &server{begun: time.Now()}
		tr := &Transport{Base: s, Options: Options{OnError: tt.onError, Limiter: checker(
			func(context.Context, policy.Request) (policy.Decision, error) { return policy.Decision{}, tt.err })}}
		if got, err := send(tr, request(t, "GET", "http://a.example/", "")); !errors.Is(err, tt.want) || (got == 200) != (tt.want == nil) {
			t.Errorf("%s: %d, %v, want %v", name, got, err, tt.want)
		}
	}
}

// TestKey: places may be others than hosts.
func TestKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := denying(429, 1, "60")
		tr := &Transport{Base: s, Key: func(r *http.Request) string { return r.URL.Path }}
		send(tr, request(t, "GET", "http://a.example/x", ""))
		if got, err := send(tr, request(t, "GET", "http://a.example/y", "")); got != 200 {
			t.Errorf("another place: %d, %v", got, err)
		}
		if _, err := send(tr, request(t, "GET", "http://b.example/x", "")); !errors.Is(err, ErrLimited) {
			t.Errorf("the same place: %v, want ErrLimited", err)
		}
	})
}

// TestEndless: of a denial's body not more than a bounded part is read.
func TestEndless(t *testing.T) {
	zeros := &endless{}
	discard(&http.Response{Body: zeros})
	if zeros.read > 1<<20 || !zeros.closed {
		t.Errorf("%d bytes are read, closed %t", zeros.read, zeros.closed)
	}
}

type endless struct {
	read   int
	closed bool
}

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return copy(p, bytes.Repeat([]byte{'x'}, len(p))), nil
}
func (e *endless) Close() error { e.closed = true; return nil }

// idle is a Base that can be told to close its idle connections.
type idle struct {
	http.RoundTripper
	told bool
}

func (i *idle) CloseIdleConnections() { i.told = true }

func TestCloseIdleConnections(t *testing.T) {
	base := new(idle)
	client := http.Client{Transport: &Transport{Base: base}}
	if client.CloseIdleConnections(); !base.told {
		t.Error("Base is not told")
	}
	client = http.Client{Transport: &Transport{Base: new(server)}}
	client.CloseIdleConnections() // which has no such method
}
