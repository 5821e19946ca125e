package api

import (
	"context"
	"fmt"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
	"github.com/drossel-dev/drossel/transport/door"
)

// MaxBatch is the largest number of checks in one CheckBatch.
const MaxBatch = 1000

// Limiter decides what this package carries. Both methods are called from many goroutines at once.
type Limiter interface {
	// Check decides one request. The error wraps one of the sentinels of package policy or of the context; any other is
	// taken for a fault of the server.
	Check(ctx context.Context, req policy.Request) (policy.Decision, error)
	// CheckBatch decides the requests and returns as many results, in the same order.
	CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result
}

// Register serves the native API of lim on s. Faults of the server are logged to log and told to the caller only as
// INTERNAL; a nil log drops them. Call it before s serves.
func Register(s grpc.ServiceRegistrar, lim Limiter, log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	drosselv1.RegisterRateLimiterServer(s, &server{lim: lim, log: log})
}

type server struct {
	drosselv1.UnimplementedRateLimiterServer
	lim Limiter
	log *slog.Logger
}

// Check serves the call of that name.
func (s *server) Check(ctx context.Context, in *drosselv1.CheckRequest) (*drosselv1.Decision, error) {
	req, err := request(in)
	if err != nil {
		return nil, s.status(ctx, err)
	}
	d, err := s.lim.Check(ctx, req)
	if err != nil {
		return nil, s.status(ctx, err)
	}
	return decision(d), nil
}

// CheckBatch serves the call of that name. Items that cannot be read get their error here, the others go on together.
func (s *server) CheckBatch(
	ctx context.Context, in *drosselv1.CheckBatchRequest,
) (*drosselv1.CheckBatchResponse, error) {
	checks := in.GetChecks()
	if len(checks) > MaxBatch {
		return nil, status.Errorf(codes.InvalidArgument, "%d checks in one batch, want at most %d: send several batches",
			len(checks), MaxBatch)
	}
	out := make([]*drosselv1.Result, len(checks))
	reqs := make([]policy.Request, 0, len(checks))
	places := make([]int, 0, len(checks)) // of each request, in out
	for i, c := range checks {
		req, err := request(c)
		if err != nil {
			out[i] = failed(err)
			continue
		}
		reqs = append(reqs, req)
		places = append(places, i)
	}
	results := s.decide(ctx, reqs)
	if len(results) != len(reqs) {
		err := fmt.Errorf("the limiter answered %d of %d checks", len(results), len(reqs))
		return nil, s.status(ctx, err)
	}
	var faults []error
	for i, r := range results {
		if r.Err != nil {
			if door.Code(r.Err) == codes.Internal {
				faults = append(faults, r.Err)
			}
			out[places[i]] = failed(r.Err)
			continue
		}
		out[places[i]] = &drosselv1.Result{Result: &drosselv1.Result_Decision{Decision: decision(r.Decision)}}
	}
	if len(faults) > 0 { // one line for a batch, however many items failed
		s.log.ErrorContext(ctx, "checks failed", "items", len(faults), "first", faults[0])
	}
	return &drosselv1.CheckBatchResponse{Results: out}, nil
}

// decide asks the limiter, unless there is nothing to ask.
func (s *server) decide(ctx context.Context, reqs []policy.Request) []policy.Result {
	if len(reqs) == 0 {
		return nil
	}
	return s.lim.CheckBatch(ctx, reqs)
}
