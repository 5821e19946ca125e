package middleware_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/transport/headers"
	"github.com/drossel-dev/drossel/transport/middleware"
)

// limiter starts a node with these policies.
func limiter(t *testing.T, text string) *node.Node {
	t.Helper()
	set, err := policy.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Policies: set})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) })

func send(h http.Handler, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/a/1", nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func withHeader(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// C106: two routes that share a policy share its buckets.
func TestC106(t *testing.T) {
	n := limiter(t, "{version: 1, policies: {pages: {key: [ip], limits: [{rate: 10/h}]}}}")
	a := middleware.New(n, middleware.Options{Policy: "pages"})(hello)
	b := middleware.New(n, middleware.Options{Policy: "pages"})(hello)
	allowed := 0
	for range 10 {
		for _, h := range []http.Handler{a, b} {
			if send(h, nil).Code == 200 {
				allowed++
			}
		}
	}
	if allowed != 10 {
		t.Errorf("%d allowed in all, want 10", allowed)
	}
}

// C110: who has no key is refused, and two of them are no one client.
func TestC110(t *testing.T) {
	n := limiter(t, "{version: 1, policies: {keys: {key: [api_key], limits: [{rate: 1/h}]}}}")
	h := middleware.New(n, middleware.Options{Policy: "keys", Key: middleware.HeaderKey("X-API-Key")})(hello)
	for i, want := range []struct {
		key    string
		status int
	}{{"", 400}, {"a", 200}, {"", 400}, {"a", 429}, {"b", 200}} {
		if w := send(h, withHeader("X-Api-Key", want.key)); w.Code != want.status {
			t.Errorf("request %d with key %q: %d, want %d", i, want.key, w.Code, want.status)
		}
	}
}

// TestByRoute: the route of a mux names the policy, or policies match by what is known of a request.
func TestByRoute(t *testing.T) {
	n := limiter(t, `
version: 1
attributes: {ip: {ipv4: 32, ipv6: 64}}
policies:
  search: {when: {route: "/search/{what}", method: GET}, key: [ip], limits: [{rate: 1/h}]}
  all: {when: {host: example.com}, key: [ip], limits: [{rate: 3/h}]}
`)
	mux := http.NewServeMux()
	limited := middleware.New(n, middleware.Options{})
	mux.Handle("GET /search/{what}", limited(hello))
	mux.Handle("/", limited(hello))
	for i, want := range []struct {
		path   string
		status int
		policy string
	}{
		{"/search/x", 200, "search"}, {"/search/y", 429, "search"}, {"/", 200, "all"}, {"/x", 200, "all"}, {"/", 429, "all"},
	} {
		w := send(mux, func(r *http.Request) { r.URL.Path = want.path })
		if said := w.Header().Get("RateLimit"); w.Code != want.status || !strings.Contains(said, `"`) {
			t.Errorf("request %d of %s: %d %s, want %d", i, want.path, w.Code, said, want.status)
		}
	}
	named := middleware.New(n, middleware.Options{PolicyFor: func(r *http.Request) string { return strings.Trim(r.URL.Path, "/") }})(hello)
	w := send(named, func(r *http.Request) { r.URL.Path, r.RemoteAddr = "/search", "192.0.2.77:1" })
	if w.Code != 200 || w.Header().Get("X-RateLimit-Limit") != "1" {
		t.Errorf("by name: %d %v", w.Code, w.Header())
	}
}

func TestAttributes(t *testing.T) {
	r := httptest.NewRequest("PUT", "http://Example.com:8080/a%2Fb/c?q=1", nil)
	r.RemoteAddr = "[::ffff:192.0.2.9]:1234"
	want := map[string]string{"method": "PUT", "route": "/a%2Fb/c", "host": "example.com", "ip": "192.0.2.9"}
	if diff := cmp.Diff(want, middleware.Attributes(r, 0)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.Pattern, r.RemoteAddr, r.Host = "PUT example.com/{x}/c", "@", ""
	want = map[string]string{"method": "PUT", "route": "/{x}/c"}
	if diff := cmp.Diff(want, middleware.Attributes(r, 0)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.Header.Set("X-Forwarded-For", "2001:db8::1%eth0")
	if got := middleware.Attributes(r, 1)["ip"]; got != "2001:db8::1" {
		t.Errorf("ip %q", got)
	}
}

func TestSkip(t *testing.T) {
	n := limiter(t, "{version: 1, policies: {none: {key: [ip], limits: [{rate: 0/s}]}}}")
	h := middleware.New(n, middleware.Options{Policy: "none", Skip: func(r *http.Request) bool { return r.URL.Path == "/healthz" }})(hello)
	if w := send(h, func(r *http.Request) { r.URL.Path = "/healthz" }); w.Code != 200 || w.Header().Get("RateLimit") != "" {
		t.Errorf("skipped: %d %v", w.Code, w.Header())
	}
	if w := send(h, nil); w.Code != 429 {
		t.Errorf("not skipped: %d", w.Code)
	}
}

func TestFailClosed(t *testing.T) {
	n := limiter(t, "{version: 1, policies: {}}")
	n.Close()
	h := middleware.New(n, middleware.Options{Policy: "pages", FailClosed: true})(hello)
	w := send(h, nil)
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "temporary-reduced-capacity") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w = send(middleware.New(n, middleware.Options{Policy: "pages"})(hello), nil); w.Code != 200 {
		t.Errorf("fail open: %d", w.Code)
	}
}

// turns is a pacer: each request waits a second longer than the one before.
type turns struct{ asked int }

func (p *turns) Check(context.Context, policy.Request) (policy.Decision, error) {
	p.asked++
	return policy.Decision{Allowed: true, Limit: 10, RetryAfter: time.Duration(p.asked-1) * time.Second}, nil
}

// TestWaitsForItsTurn: a request that a pacer admits later is served then, or not at all if its client has gone.
func TestWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		h := middleware.New(new(turns), middleware.Options{})(hello)
		for i := range 3 {
			if w := send(h, nil); w.Code != 200 {
				t.Errorf("request %d: %d", i, w.Code)
			}
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("three turns took %v, want 0, 1 and 2 s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := send(h, func(r *http.Request) { *r = *r.WithContext(ctx) })
		if w.Code != 503 || w.Body.Len() != 0 || time.Since(begun) != 4*time.Second {
			t.Errorf("gone while it waited: %d %q after %v", w.Code, w.Body, time.Since(begun))
		}
	})
}

// TestSpoofing: what a client writes into X-Forwarded-For does not choose its bucket, and costs nothing to look through.
func TestSpoofing(t *testing.T) {
	n := limiter(t, "{version: 1, policies: {pages: {key: [ip], limits: [{rate: 3/h}]}}}")
	h := middleware.New(n, middleware.Options{Policy: "pages", TrustedProxies: 1})(hello)
	for i, forged := range []string{
		"", "9.9.9.9, ", "unknown, ", `"[2001:db8::1]", `, strings.Repeat("8.8.8.8,", 10_000), ",,,", "for=1.1.1.1, ",
	} {
		w := send(h, withHeader("X-Forwarded-For", forged+"203.0.113.5")) // the proxy writes who called it
		if want := map[bool]int{true: 200, false: 429}[i < 3]; w.Code != want {
			t.Errorf("request %d: %d, want %d", i, w.Code, want)
		}
	}
	if w := send(h, withHeader("X-Forwarded-For", "203.0.113.5, ")); w.Code != 200 { // nothing from the proxy: it is the client
		t.Errorf("an empty entry: %d, want 200", w.Code)
	}
}

func TestWrongStyles(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("styles that contradict each other are accepted")
		}
	}()
	middleware.New(new(turns), middleware.Options{Headers: []headers.Style{headers.Draft11, headers.Draft07}})
}
