package envoy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixed answers what it is.
type fixed []policy.Result

func (f fixed) CheckTogether(context.Context, []policy.Request) []policy.Result { return f }

// said makes results of decisions.
func said(ds ...policy.Decision) (f fixed) {
	for _, d := range ds {
		f = append(f, policy.Result{Decision: d})
	}
	return f
}

// call asks about a descriptor for each of these users.
func call(users ...string) *rls.RateLimitRequest {
	in := &rls.RateLimitRequest{Domain: "edge"}
	for _, user := range users {
		in.Descriptors = append(in.Descriptors, ofUser(user))
	}
	return in
}

func denial() policy.Decision {
	return policy.Decision{
		DecidedBy: policy.Owner, Policy: "edge.user", LimitName: "burst", Unit: policy.Requests,
		Limit: 5, Window: 30 * time.Second, RetryAfter: 1200 * time.Millisecond, ResetAfter: 30 * time.Second,
	}
}

func TestAnswer(t *testing.T) {
	ok := policy.Decision{
		Allowed: true, DecidedBy: policy.Lease, Policy: "edge.user", LimitName: "burst", Unit: policy.Requests,
		Limit: 5, Remaining: 3, Window: time.Minute, ResetAfter: 20500 * time.Millisecond,
	}
	huge := ok
	huge.Limit, huge.Remaining, huge.Window = 1<<53, 1<<53-1, 0
	never := denial()
	never.Never, never.RetryAfter, never.Degraded, never.DecidedBy = true, 0, true, policy.Local
	shadow := ok
	shadow.ShadowDenied, shadow.DecidedBy, shadow.Remaining = true, policy.Shadow, 0
	for name, tt := range map[string]struct {
		styles []headers.Style
		said   fixed
		want   string
	}{
		"admitted": {[]headers.Style{headers.XRateLimit}, said(ok), `{
			"overallCode": "OK",
			"statuses": [{
				"code": "OK", "limitRemaining": 3, "durationUntilReset": "21s",
				"currentLimit": {"name": "burst", "requestsPerUnit": 5, "unit": "MINUTE"}
			}],
			"responseHeadersToAdd": [
				{"key": "X-RateLimit-Limit", "value": "5"}, {"key": "X-RateLimit-Remaining", "value": "3"}, {"key": "X-RateLimit-Reset", "value": "21"}
			],
			"dynamicMetadata": {
				"domain": "edge",
				"limits": [{"descriptor": 0, "policy": "edge.user", "limit": "burst", "allowed": true, "decided_by": "lease"}]
			}
		}`},
		"denied, and one that no policy is for": {[]headers.Style{headers.XRateLimit}, said(
			policy.Decision{Allowed: true, DecidedBy: policy.NoPolicy}, denial(),
		), `{
			"overallCode": "OVER_LIMIT",
			"statuses": [{"code": "OK"}, {
				"code": "OVER_LIMIT", "durationUntilReset": "2s",
				"currentLimit": {"name": "burst", "requestsPerUnit": 5, "unit": "SECOND", "unitMultiplier": 30}
			}],
			"responseHeadersToAdd": [
				{"key": "X-RateLimit-Limit", "value": "5"}, {"key": "X-RateLimit-Remaining", "value": "0"}, {"key": "X-RateLimit-Reset", "value": "30"},
				{"key": "Retry-After", "value": "2"}
			],
			"dynamicMetadata": {
				"domain": "edge",
				"limits": [{"descriptor": 1, "policy": "edge.user", "limit": "burst", "allowed": false, "decided_by": "owner"}]
			}
		}`},
		"never, by a failure rule": {[]headers.Style{}, said(never), `{
			"overallCode": "OVER_LIMIT",
			"statuses": [{
				"code": "OVER_LIMIT", "durationUntilReset": "30s",
				"currentLimit": {"name": "burst", "requestsPerUnit": 5, "unit": "SECOND", "unitMultiplier": 30}
			}],
			"dynamicMetadata": {
				"domain": "edge",
				"limits": [{"descriptor": 0, "policy": "edge.user", "limit": "burst", "allowed": false, "decided_by": "local", "degraded": true}]
			}
		}`},
		"C136: in shadow mode": {nil, said(shadow), `{
			"overallCode": "OK",
			"statuses": [{
				"code": "OK", "durationUntilReset": "21s", "currentLimit": {"name": "burst", "requestsPerUnit": 5, "unit": "MINUTE"}
			}],
			"responseHeadersToAdd": [{"key": "X-RateLimit-Shadow", "value": "denied"}],
			"dynamicMetadata": {
				"domain": "edge", "shadow_denied": true,
				"limits": [{"descriptor": 0, "policy": "edge.user", "limit": "burst", "allowed": true, "decided_by": "shadow", "shadow_denied": true}]
			}
		}`},
		"more than the fields hold": {[]headers.Style{}, said(huge), `{
			"overallCode": "OK",
			"statuses": [{
				"code": "OK", "limitRemaining": 4294967295, "durationUntilReset": "21s",
				"currentLimit": {"name": "burst", "requestsPerUnit": 4294967295}
			}],
			"dynamicMetadata": {
				"domain": "edge",
				"limits": [{"descriptor": 0, "policy": "edge.user", "limit": "burst", "allowed": true, "decided_by": "lease"}]
			}
		}`},
		"unlimited": {nil, said(policy.Decision{Allowed: true, DecidedBy: policy.Exempt, Policy: "staff"}), `{
			"overallCode": "OK",
			"statuses": [{"code": "OK", "limitRemaining": 4294967295}],
			"dynamicMetadata": {"domain": "edge", "limits": [{"descriptor": 0, "policy": "staff", "allowed": true, "decided_by": "exempt"}]}
		}`},
		"a part of the key is missing": {nil, said(policy.Decision{DecidedBy: policy.MissingKey, Policy: "llm", Never: true}), `{
			"overallCode": "OVER_LIMIT",
			"statuses": [{"code": "OVER_LIMIT"}],
			"dynamicMetadata": {"domain": "edge", "limits": [{"descriptor": 0, "policy": "llm", "allowed": false, "decided_by": "missing_key"}]}
		}`},
		"unknown domain": {nil, said(policy.Decision{Allowed: true, DecidedBy: policy.NoPolicy}), `{
			"overallCode": "OK", "statuses": [{"code": "OK"}], "dynamicMetadata": {"domain": "edge"}
		}`},
	} {
		var want rls.RateLimitResponse
		if err := protojson.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := New(tt.said, Options{Headers: tt.styles}).ShouldRateLimit(t.Context(), call(make([]string, len(tt.said))...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		if _, err := proto.Marshal(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDefaultHeaders: without a choice the answer has the styles that all doors have.
func TestDefaultHeaders(t *testing.T) {
	got, err := New(said(denial()), Options{}).ShouldRateLimit(t.Context(), call("ann"))
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, h := range got.GetResponseHeadersToAdd() {
		text = append(text, h.GetKey()+": "+h.GetValue())
	}
	want := []string{
		`RateLimit-Policy: "burst";q=5;w=30`, `RateLimit: "burst";r=0;t=2`,
		"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 30", "Retry-After: 2",
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRefundsAreNeverRefused: what gives back is OK, whatever the limiter says, and what gives back nothing isn't asked about.
func TestRefundsAreNeverRefused(t *testing.T) {
	in := call("ann", "bob", "cat")
	in.Descriptors[0].HitsAddend, in.Descriptors[0].IsNegativeHits = wrapperspb.UInt64(0), true
	in.Descriptors[1].IsNegativeHits = true
	d := denial()
	d.Remaining = 2
	got, err := New(said(d, policy.Decision{Allowed: true, DecidedBy: policy.NoPolicy}), Options{}).ShouldRateLimit(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got.GetOverallCode() != rls.RateLimitResponse_OK || len(got.GetStatuses()) != 3 || got.GetStatuses()[1].GetLimitRemaining() != 2 {
		t.Errorf("%v", got)
	}
	for i, s := range got.GetStatuses() {
		if s.GetCode() != rls.RateLimitResponse_OK {
			t.Errorf("descriptor %d: %v", i, s)
		}
	}
	nothing := call("ann")
	nothing.Descriptors[0] = in.Descriptors[0]
	if got, err := New(nil, Options{}).ShouldRateLimit(t.Context(), nothing); err != nil || got.GetOverallCode() != rls.RateLimitResponse_OK {
		t.Errorf("nothing to ask: %v %v", got, err)
	}
}

// TestErrors: a failure is a gRPC status, over a connection too, and never UNKNOWN. Faults are logged, and nobody else hears of them.
func TestErrors(t *testing.T) {
	wrapped := func(err error) fixed {
		return fixed{{Decision: policy.Decision{Allowed: true}}, {Err: fmt.Errorf("%w: for a reason with \xff", err)}}
	}
	for name, tt := range map[string]struct {
		lim  fixed
		in   *rls.RateLimitRequest
		code codes.Code
		text string
		logs bool
	}{
		"domain":      {nil, &rls.RateLimitRequest{Descriptors: []*common.RateLimitDescriptor{ofUser("ann")}}, codes.InvalidArgument, "domain is empty", false},
		"descriptors": {nil, &rls.RateLimitRequest{Domain: "edge"}, codes.InvalidArgument, "descriptors is empty", false},
		"invalid":     {wrapped(policy.ErrInvalid), call("ann", "bob"), codes.InvalidArgument, "for a reason", false},
		"unavailable": {wrapped(policy.ErrUnavailable), call("ann", "bob"), codes.Unavailable, "for a reason", false},
		"canceled":    {wrapped(context.Canceled), call("ann", "bob"), codes.Canceled, "for a reason", false},
		"too late":    {wrapped(context.DeadlineExceeded), call("ann", "bob"), codes.DeadlineExceeded, "for a reason", false},
		"fault":       {wrapped(errors.New("disk of 10.0.0.9")), call("ann", "bob"), codes.Internal, "the log of the server", true},
		"too few":     {fixed{{}}, call("ann", "bob"), codes.Internal, "the log of the server", true},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			client, service := serve(t, tt.lim, &log)
			got, err := client.ShouldRateLimit(t.Context(), tt.in)
			if status.Code(err) != tt.code || got != nil || !strings.Contains(fmt.Sprint(err), tt.text) || strings.Contains(fmt.Sprint(err), "10.0.0.9") {
				t.Errorf("%v %v, want %v with %q", got, err, tt.code, tt.text)
			}
			if logged := log.Len() > 0; logged != tt.logs || strings.Contains(log.String(), "ann") {
				t.Errorf("log: %q", log.String())
			}
			if got, want := service.Stats(), (Stats{Requests: 1, Errors: 1}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// serve serves a limiter over a connection in memory until the test ends.
func serve(t *testing.T, lim Limiter, log *bytes.Buffer) (rls.RateLimitServiceClient, *Service) {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	service := Register(s, lim, Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	done := make(chan error, 1)
	go func() { done <- s.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return rls.NewRateLimitServiceClient(conn), service
}

func TestStats(t *testing.T) {
	none := policy.Decision{Allowed: true, DecidedBy: policy.NoPolicy}
	exempt := policy.Decision{Allowed: true, DecidedBy: policy.Exempt}
	for _, tt := range []struct {
		said fixed
		want Stats
	}{
		{said(denial(), none), Stats{Requests: 1, OverLimit: 1}},
		{said(none, none), Stats{Requests: 1, UnknownDomain: 1}},
		{said(none, exempt), Stats{Requests: 1}},
		{fixed{{Err: policy.ErrUnavailable}, {}}, Stats{Requests: 1, Errors: 1}},
	} {
		s := New(tt.said, Options{})
		_, _ = s.ShouldRateLimit(t.Context(), call("ann", "bob")) // the error is one of those counted
		if got := s.Stats(); got != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.said, got, tt.want)
		}
	}
}

func TestSaturated(t *testing.T) {
	for n, want := range map[int64]uint32{-1: 0, 0: 0, 7: 7, math.MaxUint32: math.MaxUint32, math.MaxUint32 + 1: math.MaxUint32, math.MaxInt64: math.MaxUint32} {
		if got := saturated(n); got != want {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
	}
}

// TestStyles: styles that contradict each other are found before anybody is answered.
func TestStyles(t *testing.T) {
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, headers.ErrStyle) {
			t.Errorf("%v, want ErrStyle", err)
		}
	}()
	New(nil, Options{Headers: []headers.Style{headers.GitHub, headers.XRateLimit}})
}
