package envoy

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

// Limiter decides the descriptors of one request together. It is called from many goroutines at once, with the context of the call.
type Limiter interface {
	// CheckTogether returns as many results, in the same order. Each says what its own limits say; the whole is admitted if all are
	// allowed, and only then anything is charged. A request with Refund gives back, and is always allowed. If one result has an error,
	// nothing was charged. The error wraps one of the sentinels of package policy or of the context; any other is taken for a fault of
	// the server.
	CheckTogether(ctx context.Context, reqs []policy.Request) []policy.Result
}

// Options say how answers show. The zero Options are ready for use.
type Options struct {
	// Headers are the styles in which response_headers_to_add tells the client of the limits, such that headers.Validate has nothing
	// against them; Retry-After is added to every denial that waiting helps against. Default (nil): headers.Default. An empty slice that
	// is not nil is none but Retry-After. Envoy has fields of its own (enable_x_ratelimit_headers), which contradict some styles.
	Headers []headers.Style
	// Logger gets faults of the server, at level Error. Default: they are dropped.
	Logger *slog.Logger
}

// Service is the rate limit service of one limiter. Its methods are safe for concurrent use.
type Service struct {
	rls.UnimplementedRateLimitServiceServer
	lim    Limiter
	opt    Options
	counts counts
}

// New returns the service of lim, for who does not want it registered. It panics if headers.Validate has something against Options.Headers.
func New(lim Limiter, opt Options) *Service {
	if err := headers.Validate(opt.Headers); err != nil {
		panic(fmt.Errorf("envoy: Options.Headers: %w", err))
	}
	if opt.Headers == nil {
		opt.Headers = headers.Default()
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{lim: lim, opt: opt}
}

// Register serves envoy.service.ratelimit.v3.RateLimitService of lim on s, and returns what is served. Call it before s serves. It
// panics like New.
func Register(s grpc.ServiceRegistrar, lim Limiter, opt Options) *Service {
	service := New(lim, opt)
	rls.RegisterRateLimitServiceServer(s, service)
	return service
}

// ShouldRateLimit serves the call of that name (envoy/service/ratelimit/v3/rls.proto). The answer has a status for each descriptor, in
// their order, and is OVER_LIMIT if one of them is, unless that gives back. It blocks as long as the limiter does.
//
// An error is a gRPC status and never of code UNKNOWN, nor is the answer's code, by which Envoy would let the request pass however it
// is told to fail: INVALID_ARGUMENT for a request that is wrong, UNAVAILABLE, CANCELED, DEADLINE_EXCEEDED, and INTERNAL for a fault, of
// which the caller is told no more. Nothing was charged then.
func (s *Service) ShouldRateLimit(ctx context.Context, in *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	s.counts.requests.Add(1)
	a, err := requests(in)
	if err != nil {
		return nil, s.fail(ctx, err)
	}
	ds, err := s.decide(ctx, a.reqs)
	if err != nil {
		return nil, s.fail(ctx, err)
	}
	out := new(rls.RateLimitResponse)
	out.Statuses, out.OverallCode = statuses(len(in.GetDescriptors()), a, ds)
	denied := out.OverallCode == rls.RateLimitResponse_OVER_LIMIT
	out.ResponseHeadersToAdd = fields(s.opt.Headers, time.Now(), denied, ds)
	out.DynamicMetadata = metadata(in.GetDomain(), a, ds)
	s.counts.add(denied, ds)
	return out, nil
}

// decide asks the limiter, unless there is nothing to ask.
func (s *Service) decide(ctx context.Context, reqs []policy.Request) ([]policy.Decision, error) {
	if len(reqs) == 0 {
		return nil, nil
	}
	results := s.lim.CheckTogether(ctx, reqs)
	if len(results) != len(reqs) {
		return nil, fmt.Errorf("the limiter answered %d of %d descriptors", len(results), len(reqs))
	}
	ds := make([]policy.Decision, len(results))
	for i := range results {
		if err := results[i].Err; err != nil {
			return nil, err
		}
		ds[i] = results[i].Decision
	}
	return ds, nil
}
