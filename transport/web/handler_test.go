package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/bucket/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limiter answers with fixed words and keeps what it was asked.
type limiter struct {
	answer func(policy.Request) (policy.Decision, error)
	short  bool // batches are answered one result short
	asked  []policy.Request
}

func (l *limiter) Check(_ context.Context, req policy.Request) (policy.Decision, error) {
	l.asked = append(l.asked, req)
	return l.answer(req)
}

func (l *limiter) CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result {
	var out []policy.Result
	for _, r := range reqs {
		d, err := l.Check(ctx, r)
		out = append(out, policy.Result{Decision: d, Err: err})
	}
	if l.short {
		out = out[:len(out)-1]
	}
	return out
}

func deciding(d policy.Decision, err error) *limiter {
	return &limiter{answer: func(policy.Request) (policy.Decision, error) { return d, err }}
}

// ask sends one request, as curl -d would, and returns the answer.
func ask(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestCheckGolden(t *testing.T) {
	tests := []struct {
		name string
		in   policy.Decision
		want string
	}{
		{"allowed", policy.Decision{Allowed: true, DecidedBy: policy.Lease, Policy: "api", LimitName: "20/s", Limit: 20,
			Remaining: 19, Window: time.Second, ResetAfter: 50 * time.Millisecond, Node: "a<b"},
			`{"allowed":true,"limit":20,"remaining":19,"reset_after":"0.05s","never":false,"limit_name":"20/s",` +
				`"policy":"api","decided_by":"lease","degraded":false,"node":"a<b","window":"1s","overage":false,"unit":"","shadow_denied":false}`},
		{"zero values", policy.Decision{},
			`{"allowed":false,"limit":0,"remaining":0,"retry_after":"0s","reset_after":"0s","never":false,` +
				`"limit_name":"","policy":"","decided_by":"unknown","degraded":false,"node":"","window":"0s","overage":false,"unit":"","shadow_denied":false}`},
		{"denied", policy.Decision{DecidedBy: policy.DenyLease, Limit: 1 << 53, RetryAfter: 19100 * time.Millisecond,
			ResetAfter: 90 * time.Second, Degraded: true, Window: time.Hour},
			`{"allowed":false,"limit":9007199254740992,"remaining":0,"retry_after":"19.1s","reset_after":"90s",` +
				`"never":false,"limit_name":"","policy":"","decided_by":"deny_lease","degraded":true,"node":"",` +
				`"window":"3600s","overage":false,"unit":"","shadow_denied":false}`},
		{"overage, to wait", policy.Decision{Allowed: true, RetryAfter: 120 * time.Millisecond, Overage: true},
			`{"allowed":true,"limit":0,"remaining":0,"reset_after":"0s","never":false,"limit_name":"","policy":"",` +
				`"decided_by":"unknown","degraded":false,"node":"","window":"0s","wait":"0.12s","overage":true,"unit":"","shadow_denied":false}`},
		{"never", policy.Decision{Never: true, DecidedBy: policy.NoPolicy},
			`{"allowed":false,"limit":0,"remaining":0,"reset_after":"0s","never":true,"limit_name":"","policy":"",` +
				`"decided_by":"no_policy","degraded":false,"node":"","window":"0s","overage":false,"unit":"","shadow_denied":false}`},
	}
	for _, tt := range tests {
		w := ask(Handler(deciding(tt.in, nil), Config{}), "POST", "/v1/check", `{"policy":"api"}`)
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != tt.want {
			t.Errorf("%s: %d\n got %s\nwant %s", tt.name, w.Code, got, tt.want)
		}
		if got := w.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("%s: Content-Type %q", tt.name, got)
		}
	}
}

func TestSeconds(t *testing.T) {
	tests := []struct {
		in   time.Duration
		want string
	}{
		{0, "0s"}, {1, "0.000000001s"}, {12500 * time.Millisecond, "12.5s"}, {62 * time.Second, "62s"},
		{100 * time.Second, "100s"}, {1<<63 - 1, "9223372036.854775807s"}, {-1500 * time.Millisecond, "-1.5s"},
		{-1 << 63, "-9223372036.854775808s"},
	}
	for _, tt := range tests {
		if got, err := seconds(tt.in).MarshalText(); err != nil || string(got) != tt.want {
			t.Errorf("seconds(%d) = %s, %v, want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	secret := errors.New("dial 10.0.0.7: refused")
	tests := []struct {
		err    error
		status int
		code   string
	}{
		{policy.ErrInvalid, 400, "invalid_argument"},
		{fmt.Errorf("%w: ap, did you mean api", policy.ErrUnknownPolicy), 404, "not_found"},
		{policy.ErrUnavailable, 503, "unavailable"},
		{fmt.Errorf("owner: %w", context.DeadlineExceeded), 503, "deadline_exceeded"},
		{context.Canceled, 503, "cancelled"},
		{secret, 500, "internal"},
	}
	for _, tt := range tests {
		var log bytes.Buffer
		h := Handler(deciding(policy.Decision{}, tt.err), Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		w := ask(h, "POST", "/v1/check", `{}`)
		var one struct{ Error failure }
		if err := json.Unmarshal(w.Body.Bytes(), &one); err != nil {
			t.Fatalf("%v: %v in %s", tt.err, err, w.Body)
		}
		if w.Code != tt.status || one.Error.Code != tt.code || one.Error.Message == "" {
			t.Errorf("check failing with %v: %d %s, want %d %s", tt.err, w.Code, w.Body, tt.status, tt.code)
		}
		if got := strings.Contains(log.String(), "10.0.0.7"); got != (tt.err == secret) {
			t.Errorf("check failing with %v logged %q", tt.err, log.String())
		}
		w = ask(h, "POST", "/v1/check_batch", `{"checks":[{}]}`)
		if !strings.Contains(w.Body.String(), `{"results":[{"error":{"code":"`+tt.code+`"`) || w.Code != 200 {
			t.Errorf("item failing with %v: %d %s", tt.err, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String()+one.Error.Message, "10.0.0.7") {
			t.Errorf("a fault of the server was told to the caller: %s", w.Body)
		}
	}
}

func TestBatch(t *testing.T) {
	l := &limiter{answer: func(r policy.Request) (policy.Decision, error) {
		if r.Policy == "ap" {
			return policy.Decision{}, policy.ErrUnknownPolicy
		}
		return policy.Decision{Allowed: true, Policy: r.Policy}, nil
	}}
	h := Handler(l, Config{})
	w := ask(h, "POST", "/v1/check_batch",
		`{"checks":[{"policy":"a"},{"cost":1.5},null,{"policy":"ap"},{"polcy":"x"},{"policy":"b"}]}`)
	var out struct {
		Results []struct {
			Decision *struct{ Policy string }
			Error    *failure
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v: %s", w.Code, err, w.Body)
	}
	var got []string
	for _, r := range out.Results {
		switch {
		case r.Decision != nil && r.Error == nil:
			got = append(got, r.Decision.Policy)
		case r.Decision == nil && r.Error != nil:
			got = append(got, r.Error.Code)
		default:
			t.Errorf("a result holds both or neither of decision and error: %s", w.Body)
		}
	}
	want := "a invalid_argument invalid_argument not_found invalid_argument b"
	if strings.Join(got, " ") != want || len(l.asked) != 3 {
		t.Errorf("batch = %q (%d asked), want %s (3 asked)", got, len(l.asked), want)
	}

	if w := ask(h, "POST", "/v1/check_batch", `{"checks":[]}`); strings.TrimSpace(w.Body.String()) != `{"results":[]}` {
		t.Errorf("empty batch: %d %s", w.Code, w.Body)
	}
	l.short = true
	if w := ask(h, "POST", "/v1/check_batch", `{"checks":[{},{}]}`); w.Code != http.StatusInternalServerError {
		t.Errorf("batch with a missing answer: %d %s, want 500", w.Code, w.Body)
	}
}

func TestBatchRefused(t *testing.T) {
	items := func(n int) string { return `{"checks":[` + strings.TrimSuffix(strings.Repeat("{},", n), ",") + `]}` }
	for body, status := range map[string]int{
		items(MaxBatch):            200,
		items(MaxBatch + 1):        400,
		`{}`:                       400,
		`{"checks":null}`:          400,
		`{"checks":{}}`:            400,
		`[]`:                       400,
		`{"checks":[{}]} x`:        400,
		`{"checks":[{}],"more":1}`: 400,
		`{"checks":[{},]}`:         400,
		`{"checks":"` + strings.Repeat("x", batchBytes) + `"}`: 413,
	} {
		l := deciding(policy.Decision{}, nil)
		if w := ask(Handler(l, Config{}), "POST", "/v1/check_batch", body); w.Code != status {
			t.Errorf("%.60s: %d %s, want %d", body, w.Code, w.Body, status)
		} else if status != 200 && len(l.asked) != 0 {
			t.Errorf("%.60s: refused, and decided in part", body)
		}
	}
}

func TestRoutes(t *testing.T) {
	full := Config{
		Ready:   func() error { return errors.New("joining: 2 of 3 partitions") },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1\n")) }),
		Members: func() any { return []string{"a", "b"} },
		Ring:    func() any { return make(chan int) }, // not JSON: a fault of the server
		Leases:  func() any { return []int{7} },

		Partitions: func() any { return []int{8} },
	}
	large := `{"policy":"` + strings.Repeat("x", checkBytes) + `"}`
	tests := []struct {
		method, path, body string
		cfg                Config
		status             int
		allow, want        string
	}{
		{"POST", "/v1/check", "{}", Config{}, 200, "", `"allowed":true`},
		{"POST", "/v1/check", large, Config{}, 413, "", "too_large"},
		{"GET", "/v1/check", "", Config{}, 405, "POST", "method_not_allowed"},
		{"PUT", "/v1/check_batch", "", Config{}, 405, "POST", "method_not_allowed"},
		{"GET", "/livez", "", full, 200, "", `{"status":"ok"}`},
		{"HEAD", "/livez", "", full, 200, "", ""},
		{"POST", "/livez", "", full, 405, "GET, HEAD", "method_not_allowed"},
		{"GET", "/readyz", "", Config{}, 200, "", `{"status":"ok"}`},
		{"GET", "/readyz", "", full, 503, "", `{"error":{"code":"unavailable","message":"joining: 2 of 3 partitions"}}`},
		{"GET", "/metrics", "", full, 200, "", "up 1\n"},
		{"GET", "/metrics", "", Config{}, 404, "", "not_found"},
		{"GET", "/v1/members", "", full, 200, "", `["a","b"]`},
		{"GET", "/v1/members", "", Config{}, 404, "", "not_found"},
		{"GET", "/v1/ring", "", full, 500, "", "internal"},
		{"GET", "/v1/ring", "", Config{}, 404, "", "not_found"},
		{"GET", "/v1/ring/partitions", "", full, 200, "", "[8]"},
		{"GET", "/v1/ring/partitions", "", Config{}, 404, "", "not_found"},
		{"GET", "/v1/leases", "", full, 200, "", "[7]"},
		{"GET", "/v1/leases", "", Config{}, 404, "", "not_found"},
		{"GET", "/", "", full, 404, "", "not_found"},
	}
	for _, tt := range tests {
		w := ask(Handler(deciding(policy.Decision{Allowed: true}, nil), tt.cfg), tt.method, tt.path, tt.body)
		if w.Code != tt.status || w.Header().Get("Allow") != tt.allow || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: %d, Allow %q, %s, want %d, Allow %q, %s", tt.method, tt.path, w.Code,
				w.Header().Get("Allow"), w.Body, tt.status, tt.allow, tt.want)
		}
	}
}

// Server serves what it was given, and no caller can be silent for ever.
func TestServer(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = Server(Handler(deciding(policy.Decision{Allowed: true}, nil), Config{}), nil)
	srv.Start()
	defer srv.Close()
	resp, err := srv.Client().Post(srv.URL+"/v1/check", "", strings.NewReader(`{"policy":"api"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("POST /v1/check: %d, %v", resp.StatusCode, err)
	}
	if srv.Config.ReadHeaderTimeout <= 0 || srv.Config.ReadTimeout <= 0 || srv.Config.IdleTimeout <= 0 {
		t.Errorf("a silent caller can hold a connection: %+v", srv.Config)
	}
}
