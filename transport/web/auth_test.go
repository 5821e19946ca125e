package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

// answers is a limiter that keeps what it was asked, and says what it was told.
type answers struct {
	asked policy.Request
	d     policy.Decision
	err   error
}

func (a *answers) Check(_ context.Context, req policy.Request) (policy.Decision, error) {
	a.asked = req
	return a.d, a.err
}

func (a *answers) CheckBatch(context.Context, []policy.Request) []policy.Result { return nil }

func authorize(cfg AuthConfig, a *answers, method, url string, h http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, failing{})
	r.Header = h
	w := httptest.NewRecorder()
	Handler(a, Config{Auth: &cfg}).ServeHTTP(w, r)
	return w
}

// failing is a body that must not be read.
type failing struct{}

func (failing) Read([]byte) (int, error) { panic("the body is read") }

func TestAuthReads(t *testing.T) {
	gateway := http.Header{
		"X-Forwarded-Method": {"POST"}, "X-Forwarded-Host": {"API.example.com:8080"}, "X-Forwarded-Uri": {"/v1/chat/a%2Fb//c?q=/x#y"},
		"X-Forwarded-For": {"6.6.6.6, 203.0.113.9"}, "X-Api-Key": {"k1"}, "X-Two": {"a", "b"}, "X-Empty": {""},
	}
	all := map[string]string{"method": "POST", "host": "api.example.com", "route": "/v1/chat/a%2Fb/c", "ip": "203.0.113.9"}
	with := func(name, value string) map[string]string {
		m := map[string]string{name: value}
		for n, v := range all {
			m[n] = v
		}
		return m
	}
	for _, tt := range []struct {
		id   string
		cfg  AuthConfig
		url  string
		head http.Header
		want policy.Request
	}{
		{"what a gateway says", AuthConfig{TrustedProxies: 1}, "/v1/auth", gateway, policy.Request{Attributes: all}},
		{"one of ours", AuthConfig{TrustedProxies: 1, Attributes: map[string]string{"api_key": "x-api-key"}}, "/v1/auth/keys?q=1",
			gateway, policy.Request{Policy: "keys", Attributes: with("api_key", "k1")}},
		{"twice, empty or absent is nothing, and a query is the client's", AuthConfig{TrustedProxies: 1, Attributes: map[string]string{"a": "X-Two", "b": "X-Empty", "c": "X-No"}},
			"/v1/auth?cost=0&policy=mine&deny=x", gateway, policy.Request{Attributes: all}},
		{"another header, and one that is not read", AuthConfig{Attributes: map[string]string{"route": "X-Original-Url", "host": ""}}, "/v1/auth",
			http.Header{"X-Original-Url": {"https://example.com/a/b?c"}, "X-Forwarded-Host": {"x"}, "X-Forwarded-For": {"1.1.1.1"}},
			policy.Request{Attributes: map[string]string{"route": "/a/b"}}},
		{"nothing", AuthConfig{TrustedProxies: 1}, "/v1/auth", http.Header{}, policy.Request{Attributes: map[string]string{}}},
		{"C112: two proxies", AuthConfig{TrustedProxies: 2}, "/v1/auth", http.Header{"X-Forwarded-For": {"9.9.9.9, 2001:db8::1", "10.0.0.1"}},
			policy.Request{Attributes: map[string]string{"ip": "2001:db8::1"}}},
	} {
		a := &answers{d: policy.Decision{Allowed: true}}
		for _, method := range []string{"GET", "POST", "PURGE"} {
			w := authorize(tt.cfg, a, method, tt.url, tt.head)
			if diff := cmp.Diff(tt.want, a.asked); diff != "" || w.Code != 200 || w.Body.Len() != 0 {
				t.Errorf("%s %s: %d %s (-want +got):\n%s", tt.id, method, w.Code, w.Body, diff)
			}
		}
	}
}

func TestAuthAnswers(t *testing.T) {
	denied := policy.Decision{LimitName: "burst", Limit: 5, Window: time.Minute, RetryAfter: 1500 * time.Millisecond}
	for _, tt := range []struct {
		id     string
		cfg    AuthConfig
		query  string
		a      answers
		status int
		fields map[string]string
		body   string
	}{
		{"allowed", AuthConfig{}, "", answers{d: policy.Decision{Allowed: true, LimitName: "burst", Limit: 5, Remaining: 4}}, 200,
			map[string]string{"X-RateLimit-Remaining": "4", "Retry-After": ""}, ""},
		{"denied", AuthConfig{}, "", answers{d: denied}, 429, map[string]string{"Retry-After": "2", "X-RateLimit-Limit": "5"}, "quota-exceeded"},
		{"denied for nginx", AuthConfig{}, "?deny=403", answers{d: denied}, 403,
			map[string]string{"Retry-After": "2", "X-RateLimit-Status": "429", "RateLimit": `"burst";r=0;t=2`}, "quota-exceeded"},
		{"by a rule", AuthConfig{}, "?deny=403", answers{d: policy.Decision{DecidedBy: policy.Timeout, RetryAfter: time.Second}}, 403,
			map[string]string{"X-RateLimit-Status": "503", "Retry-After": "1"}, "temporary-reduced-capacity"},
		{"C136: shadow", AuthConfig{}, "", answers{d: policy.Decision{Allowed: true, DecidedBy: policy.Shadow, ShadowDenied: true}}, 200,
			map[string]string{"X-RateLimit-Shadow": "denied", "Retry-After": "", "RateLimit": ""}, ""},
		{"fail open", AuthConfig{}, "", answers{err: policy.ErrUnavailable}, 200, nil, ""},
		{"fail closed", AuthConfig{FailClosed: true}, "", answers{err: errors.New("secret")}, 503, map[string]string{"Retry-After": "1"}, "capacity"},
		{"no key", AuthConfig{}, "", answers{err: policyErr(t)}, 400, nil, "user"},
		{"no key, for nginx", AuthConfig{}, "?deny=403", answers{err: policyErr(t)}, 403, map[string]string{"X-RateLimit-Status": "400"}, "user"},
		{"a key that is too long", AuthConfig{}, "", answers{err: fmt.Errorf("%w: key secret", policy.ErrInvalid)}, 400,
			map[string]string{"Content-Type": "application/problem+json"}, "wrong form"},
		{"unknown policy", AuthConfig{}, "", answers{err: policy.ErrUnknownPolicy}, 404, map[string]string{"RateLimit": "", "Content-Type": "application/problem+json"}, "policy"},
	} {
		w := authorize(tt.cfg, &tt.a, "GET", "/v1/auth"+tt.query, http.Header{})
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s, want %d %s", tt.id, w.Code, w.Body, tt.status, tt.body)
		}
		for name, want := range tt.fields {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", tt.id, name, got, want)
			}
		}
	}
}

// policyErr is the error about a request without its key.
func policyErr(t *testing.T) error {
	t.Helper()
	set, err := policy.Parse("test.yaml", []byte("{version: 1, policies: {api: {key: [user], limits: [{rate: 1/s}]}}}"))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := set.Policy("api")
	_, err = p.AppendKey(nil, &policy.Request{Policy: "api"})
	return err
}

// TestAuthWaits: the gateway is answered when it is the request's turn.
func TestAuthWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		w := authorize(AuthConfig{}, &answers{d: policy.Decision{Allowed: true, RetryAfter: time.Second}}, "GET", "/v1/auth", http.Header{})
		if w.Code != 200 || time.Since(begun) != time.Second {
			t.Errorf("%d after %v, want 200 after 1 s", w.Code, time.Since(begun))
		}
		late := &timed{ResponseRecorder: httptest.NewRecorder()} // one that the server would cut after 30 s
		Handler(&answers{d: policy.Decision{Allowed: true, RetryAfter: time.Minute}}, Config{Auth: &AuthConfig{}}).ServeHTTP(
			late, httptest.NewRequest("GET", "/v1/auth", nil))
		if left := time.Until(late.deadline); late.Code != 200 || left != 30*time.Second {
			t.Errorf("%d, and %v are left to write it, want 30 s", late.Code, left)
		}
	})
}

// timed is a writer with a deadline.
type timed struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (w *timed) SetWriteDeadline(at time.Time) error { w.deadline = at; return nil }

// TestAuthStyles: styles that contradict each other are found before anybody is answered.
func TestAuthStyles(t *testing.T) {
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, headers.ErrStyle) {
			t.Errorf("%v, want ErrStyle", err)
		}
	}()
	Handler(&answers{}, Config{Auth: &AuthConfig{Headers: []headers.Style{headers.GitHub, headers.XRateLimit}}})
}

// Whatever a client sends, no attribute is read from anything but the one header it has, and paths are in one spelling.
func FuzzForwarded(f *testing.F) {
	f.Add("/a?b", "1.1.1.1, 2.2.2.2", "key", 1)
	f.Add("https://h", ",,", "", 2)
	f.Fuzz(func(t *testing.T, uri, forwarded, key string, proxies int) {
		h := http.Header{"X-Forwarded-Uri": {uri}, "X-Forwarded-For": {forwarded}, "X-Api-Key": {key}}
		from := Forwarded()
		from["api_key"] = "X-Api-Key"
		got := attributes(h, from, proxies%8)
		if got["route"] != headers.Path(uri) || got["api_key"] != key || len(got) > 3 {
			t.Errorf("%q: %v", h, got)
		}
		if ip, ok := got["ip"]; ok && (proxies%8 < 1 || strings.ContainsAny(ip, ", %[")) {
			t.Errorf("%q: ip %q", forwarded, ip)
		}
	})
}

// A body that never ends holds up nobody.
func TestAuthWithABody(t *testing.T) {
	srv := httptest.NewServer(Handler(&answers{d: policy.Decision{Allowed: true}}, Config{Auth: &AuthConfig{}}))
	defer srv.Close()
	body, write := io.Pipe()
	defer write.Close()
	req, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/v1/auth", body)
	if err != nil {
		t.Fatal(err)
	}
	go write.Write([]byte("begun"))
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	res.Body.Close()
}
