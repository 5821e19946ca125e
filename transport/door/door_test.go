package door_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/door"
)

type whoKey struct{}

// hook lets in who says a name, and knows one who must stay out.
func hook(ctx context.Context, c *door.Caller) (context.Context, error) {
	if c.Method == "" || c.Header == nil {
		return nil, fmt.Errorf("a caller of nothing: %+v", c)
	}
	switch said := c.Header("X-Name"); {
	case len(said) == 0:
		return nil, fmt.Errorf("%w: say X-Name", door.ErrUnauthenticated)
	case said[0] == "mallory":
		return nil, fmt.Errorf("%w: mallory may not", door.ErrForbidden)
	case said[0] == "broken":
		return nil, errors.New("the directory at 10.0.0.9 is down")
	default:
		return context.WithValue(ctx, whoKey{}, said[0]), nil
	}
}

func TestHandler(t *testing.T) {
	h := door.Handler(hook, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello ", r.Context().Value(whoKey{}))
	}))
	for _, tt := range []struct {
		name   string
		status int
		body   string
	}{
		{"ann", 200, "hello ann"},
		{"", 401, `{"error":{"code":"unauthenticated","message":"unauthenticated: say X-Name"}}`},
		{"mallory", 403, `{"error":{"code":"permission_denied","message":"forbidden: mallory may not"}}`},
		{"broken", 500, `"internal"`},
	} {
		r := httptest.NewRequest("POST", "/v1/check", nil)
		if tt.name != "" {
			r.Header.Set("X-Name", tt.name)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) || strings.Contains(w.Body.String(), "10.0.0.9") {
			t.Errorf("%q: %d %s, want %d %s", tt.name, w.Code, w.Body, tt.status, tt.body)
		}
	}
	if next := http.NewServeMux(); door.Handler(nil, next) != http.Handler(next) {
		t.Error("without a hook the handler is another one")
	}
}

func TestOptions(t *testing.T) {
	s := grpc.NewServer(door.Options(hook)...)
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	l := bufconn.Listen(1 << 16)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	c, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for name, want := range map[string]codes.Code{
		"ann": codes.OK, "": codes.Unauthenticated, "mallory": codes.PermissionDenied, "broken": codes.Internal,
	} {
		ctx := t.Context()
		if name != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "x-name", name)
		}
		_, err := grpc_health_v1.NewHealthClient(c).Check(ctx, new(grpc_health_v1.HealthCheckRequest))
		if status.Code(err) != want || strings.Contains(fmt.Sprint(err), "10.0.0.9") {
			t.Errorf("a call of %q: %v, want %v", name, err, want)
		}
		stream, err := grpc_health_v1.NewHealthClient(c).Watch(ctx, new(grpc_health_v1.HealthCheckRequest))
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != want {
			t.Errorf("a stream of %q: %v, want %v", name, err, want)
		}
	}
	if len(door.Options(nil)) != 0 {
		t.Error("without a hook there are interceptors")
	}
}

// verdicts answers what it is.
type verdicts []policy.Result

func (v verdicts) Check(context.Context, policy.Request) (policy.Decision, error) {
	return v[0].Decision, v[0].Err
}
func (v verdicts) CheckBatch(context.Context, []policy.Request) []policy.Result    { return v }
func (v verdicts) CheckTogether(context.Context, []policy.Request) []policy.Result { return v }

func TestCounts(t *testing.T) {
	var c door.Counts
	yes, no := policy.Decision{Allowed: true, Degraded: true}, policy.Decision{}
	lim := c.Of(verdicts{{Decision: yes}, {Decision: no}, {Err: policy.ErrInvalid}})
	if d, err := lim.Check(t.Context(), policy.Request{}); d != yes || err != nil {
		t.Errorf("Check: %+v %v", d, err)
	}
	lim.CheckBatch(t.Context(), nil)
	if got := lim.CheckTogether(t.Context(), nil); len(got) != 3 || got[2].Err == nil {
		t.Errorf("CheckTogether: %+v", got)
	}
	if got, want := c.Stats(), (door.Stats{Allowed: 3, Denied: 2, Failed: 2, Degraded: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
