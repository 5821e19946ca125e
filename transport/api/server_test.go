package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
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

func allow(policy.Request) (policy.Decision, error) { return policy.Decision{Allowed: true}, nil }

// serve serves l over a connection in memory until the test ends.
func serve(t *testing.T, l *limiter, log *bytes.Buffer) *grpc.ClientConn {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	Register(s, l, slog.New(slog.NewTextHandler(log, nil)))
	h := RegisterHealth(s)
	RegisterReflection(s)
	done := make(chan error, 1)
	go func() { done <- s.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Shutdown()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return conn
}

func TestRequest(t *testing.T) {
	tests := []struct {
		name string
		in   *drosselv1.CheckRequest
		want policy.Request
	}{
		{"absent cost is one, absent key is none", &drosselv1.CheckRequest{Policy: "p"}, policy.Request{Policy: "p"}},
		{"key", &drosselv1.CheckRequest{Key: []byte("k")}, policy.Request{Parts: []string{"k"}}},
		{"empty key", &drosselv1.CheckRequest{Key: []byte{}}, policy.Request{Parts: []string{""}}},
		{"any bytes", &drosselv1.CheckRequest{Key: []byte("\xff\x00")}, policy.Request{Parts: []string{"\xff\x00"}}},
		{"cost 0 looks", &drosselv1.CheckRequest{Cost: proto.Int64(0)}, policy.Request{CheckOnly: true}},
		{"cost", &drosselv1.CheckRequest{Cost: proto.Int64(7)}, policy.Request{Cost: 7}},
		{"negative cost", &drosselv1.CheckRequest{Cost: proto.Int64(-7)}, policy.Request{Cost: -7}},
		{"look at a cost", &drosselv1.CheckRequest{Cost: proto.Int64(7), CheckOnly: true},
			policy.Request{Cost: 7, CheckOnly: true}},
		{"maps", &drosselv1.CheckRequest{Attributes: map[string]string{"ip": ""}, Costs: map[string]int64{"requests": 2},
			Priority: -3}, policy.Request{Attributes: map[string]string{"ip": ""}, Costs: map[string]int64{"requests": 2},
			Priority: -3}},
		{"inline limit", &drosselv1.CheckRequest{Limit: &drosselv1.Limit{Rate: "10/min"}},
			policy.Request{Limit: &bucket.Limit{Count: 10, Per: time.Minute, Burst: 10}}},
		{"inline burst", &drosselv1.CheckRequest{Limit: &drosselv1.Limit{Rate: "10/min", Burst: proto.Int64(0)}},
			policy.Request{Limit: &bucket.Limit{Count: 10, Per: time.Minute}}},
	}
	l := &limiter{answer: allow}
	client := drosselv1.NewRateLimiterClient(serve(t, l, new(bytes.Buffer)))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l.asked = nil
			if _, err := client.Check(t.Context(), tt.in); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]policy.Request{tt.want}, l.asked); diff != "" {
				t.Errorf("Check asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestRefused(t *testing.T) {
	tests := []struct {
		limit *drosselv1.Limit
		field string
	}{
		{&drosselv1.Limit{}, "limit.rate"},
		{&drosselv1.Limit{Rate: "10/fortnight"}, "limit.rate"},
		{&drosselv1.Limit{Rate: "10/min", Burst: proto.Int64(-1)}, "limit.burst"},
		{&drosselv1.Limit{Rate: "10/min", Burst: proto.Int64(bucket.MaxTokens + 1)}, "limit.burst"},
	}
	for _, tt := range tests {
		_, err := request(&drosselv1.CheckRequest{Limit: tt.limit})
		if !errors.Is(err, policy.ErrInvalid) || !errors.Is(err, bucket.ErrInvalidLimit) ||
			!strings.Contains(err.Error(), tt.field) {
			t.Errorf("request(limit %v) = %v, want ErrInvalid that names %s", tt.limit, err, tt.field)
		}
	}
}

func TestDecision(t *testing.T) {
	tests := []struct {
		name string
		in   policy.Decision
		want *drosselv1.Decision
	}{
		{"zero", policy.Decision{Allowed: true},
			&drosselv1.Decision{Allowed: true, ResetAfter: &durationpb.Duration{}, Window: &durationpb.Duration{}}},
		{"denied", policy.Decision{DecidedBy: policy.Owner, Policy: "api", LimitName: "burst", Limit: 3, Remaining: 2,
			Window: time.Minute, RetryAfter: 19100 * time.Millisecond, ResetAfter: time.Second, Node: "a", Degraded: true},
			&drosselv1.Decision{DecidedBy: drosselv1.DecidedBy_DECIDED_BY_OWNER, Policy: "api", LimitName: "burst",
				Limit: 3, Remaining: 2, Window: durationpb.New(time.Minute), Node: "a", Degraded: true,
				RetryAfter: &durationpb.Duration{Seconds: 19, Nanos: 100_000_000}, ResetAfter: durationpb.New(time.Second)}},
		{"to wait", policy.Decision{Allowed: true, RetryAfter: time.Second, Overage: true},
			&drosselv1.Decision{Allowed: true, Wait: durationpb.New(time.Second), Overage: true,
				ResetAfter: &durationpb.Duration{}, Window: &durationpb.Duration{}}},
		{"never", policy.Decision{Never: true},
			&drosselv1.Decision{Never: true, ResetAfter: &durationpb.Duration{}, Window: &durationpb.Duration{}}},
	}
	l := &limiter{}
	client := drosselv1.NewRateLimiterClient(serve(t, l, new(bytes.Buffer)))
	for _, tt := range tests {
		l.answer = func(policy.Request) (policy.Decision, error) { return tt.in, nil }
		got, err := client.Check(t.Context(), &drosselv1.CheckRequest{})
		if err != nil {
			t.Fatalf("%s: a decision is no error: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// The words of policy.DecidedBy and of the enum are the same, number by number.
func TestDecidedByNumbers(t *testing.T) {
	values := drosselv1.DecidedBy_name
	for i := range 256 {
		word := policy.DecidedBy(i).String()
		if i > 0 && word == policy.Unknown.String() {
			if i != len(values) {
				t.Errorf("policy has %d values, the enum %d", i, len(values))
			}
			break
		}
		if want := "DECIDED_BY_" + strings.ToUpper(word); values[int32(i)] != want {
			t.Errorf("enum value %d is %q, want %q", i, values[int32(i)], want)
		}
	}
}

func TestErrors(t *testing.T) {
	secret := errors.New("dial 10.0.0.7: refused")
	tests := []struct {
		err  error
		code codes.Code
	}{
		{policy.ErrInvalid, codes.InvalidArgument},
		{fmt.Errorf("%w: \xff", policy.ErrInvalid), codes.InvalidArgument},
		{fmt.Errorf("%w: ap, did you mean api", policy.ErrUnknownPolicy), codes.NotFound},
		{policy.ErrUnavailable, codes.Unavailable},
		{context.Canceled, codes.Canceled},
		{fmt.Errorf("owner: %w", context.DeadlineExceeded), codes.DeadlineExceeded},
		{secret, codes.Internal},
	}
	l := &limiter{}
	var log bytes.Buffer
	client := drosselv1.NewRateLimiterClient(serve(t, l, &log))
	for _, tt := range tests {
		log.Reset()
		l.answer = func(policy.Request) (policy.Decision, error) { return policy.Decision{}, tt.err }
		_, err := client.Check(t.Context(), &drosselv1.CheckRequest{})
		told := status.Convert(err)
		if told.Code() != tt.code {
			t.Errorf("Check failing with %v: code %v, want %v", tt.err, told.Code(), tt.code)
		}
		if got := strings.Contains(log.String(), "10.0.0.7"); got != (tt.err == secret) {
			t.Errorf("Check failing with %v logged %q", tt.err, log.String())
		}
		batch, err := client.CheckBatch(t.Context(), &drosselv1.CheckBatchRequest{Checks: make([]*drosselv1.CheckRequest, 2)})
		if err != nil {
			t.Fatalf("CheckBatch with items failing with %q: %v", tt.err, err)
		}
		item := batch.GetResults()[1].GetError()
		if codes.Code(item.GetCode()) != tt.code {
			t.Errorf("item failing with %v: %v, want code %v", tt.err, item, tt.code)
		}
		for _, text := range []string{told.Message(), item.GetMessage()} {
			if strings.Contains(text, "10.0.0.7") {
				t.Errorf("a fault of the server was told to the caller: %q", text)
			}
		}
	}
}

func TestCheckBatch(t *testing.T) {
	l := &limiter{answer: func(r policy.Request) (policy.Decision, error) {
		if r.Policy == "unknown" {
			return policy.Decision{}, policy.ErrUnknownPolicy
		}
		return policy.Decision{Policy: r.Policy}, nil
	}}
	client := drosselv1.NewRateLimiterClient(serve(t, l, new(bytes.Buffer)))
	out, err := client.CheckBatch(t.Context(), &drosselv1.CheckBatchRequest{Checks: []*drosselv1.CheckRequest{
		{Policy: "a"}, {Policy: "b", Limit: &drosselv1.Limit{Rate: "bad"}}, {Policy: "unknown"}, {Policy: "c"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range out.GetResults() {
		got = append(got, fmt.Sprint(r.GetDecision().GetPolicy(), codes.Code(r.GetError().GetCode())))
	}
	if want := []string{"aOK", "InvalidArgument", "NotFound", "cOK"}; !cmp.Equal(got, want) {
		t.Errorf("CheckBatch = %q, want %q", got, want)
	}
	if len(l.asked) != 3 {
		t.Errorf("the limiter was asked %d times, want 3: a bad item is not asked", len(l.asked))
	}
}

func TestCheckBatchSizes(t *testing.T) {
	l := &limiter{answer: allow}
	var log bytes.Buffer
	client := drosselv1.NewRateLimiterClient(serve(t, l, &log))
	batch := func(n int) *drosselv1.CheckBatchRequest {
		in := &drosselv1.CheckBatchRequest{}
		for range n {
			c := &drosselv1.CheckRequest{Policy: "api", Key: bytes.Repeat([]byte{0xff}, policy.MaxKeyBytes)}
			in.Checks = append(in.Checks, c)
		}
		return in
	}
	for _, n := range []int{0, 1, MaxBatch} {
		out, err := client.CheckBatch(t.Context(), batch(n))
		if err != nil || len(out.GetResults()) != n {
			t.Errorf("CheckBatch of %d: %d results, %v", n, len(out.GetResults()), err)
		}
	}
	l.asked = nil
	small := &drosselv1.CheckBatchRequest{Checks: make([]*drosselv1.CheckRequest, MaxBatch+1)}
	if _, err := client.CheckBatch(t.Context(), small); status.Code(err) != codes.InvalidArgument {
		t.Errorf("CheckBatch of %d: %v, want INVALID_ARGUMENT", MaxBatch+1, err)
	}
	if len(l.asked) != 0 {
		t.Errorf("a batch that is too large was decided in part: %d checks", len(l.asked))
	}
	l.short = true
	if _, err := client.CheckBatch(t.Context(), batch(2)); status.Code(err) != codes.Internal {
		t.Errorf("CheckBatch with a missing answer: %v, want INTERNAL", err)
	}
	if !strings.Contains(log.String(), "answered 1 of 2") {
		t.Errorf("a missing answer was not logged: %q", log.String())
	}
}
