package api

import (
	"context"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
	"github.com/drossel-dev/drossel/transport/door"
)

// LimitsStore has limits for single keys, in place of those of their policies. Its methods are called from many goroutines at once, and
// their errors wrap sentinels of package policy if the caller is to blame.
type LimitsStore interface {
	// SetLimits has keys get limits of their own, or those of their policies again, and returns as many results, in the same order.
	SetLimits(ctx context.Context, keys []policy.KeyLimits) []policy.KeyResult
	// Limits returns what a key has, as Text.
	Limits(ctx context.Context, key policy.KeyLimits) (policy.KeyLimits, policy.KeyResult, error)
}

// RegisterLimits serves the limits store on s, as Register serves checks.
func RegisterLimits(s grpc.ServiceRegistrar, store LimitsStore, log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	drosselv1.RegisterLimitsStoreServer(s, &limitsServer{store: store, faults: server{log: log}})
}

type limitsServer struct {
	drosselv1.UnimplementedLimitsStoreServer
	store  LimitsStore
	faults server
}

// SetLimits serves the call of that name.
func (s *limitsServer) SetLimits(ctx context.Context, in *drosselv1.SetLimitsRequest) (*drosselv1.SetLimitsResponse, error) {
	if n := len(in.GetKeys()); n > MaxBatch {
		return nil, status.Errorf(codes.InvalidArgument, "%d keys in one call, want at most %d: send several", n, MaxBatch)
	}
	keys := make([]policy.KeyLimits, len(in.GetKeys()))
	for i, k := range in.GetKeys() {
		keys[i] = keyOf(k.GetKey())
		keys[i].Text = k.GetLimits()
	}
	out := &drosselv1.SetLimitsResponse{Results: make([]*drosselv1.KeyResult, 0, len(keys))}
	for _, r := range s.store.SetLimits(ctx, keys) {
		one := &drosselv1.KeyResult{}
		if r.Err != nil {
			c := door.Code(r.Err)
			if c == codes.Internal {
				s.faults.log.ErrorContext(ctx, "limits of a key were not set", "err", r.Err)
			}
			one.Result = &drosselv1.KeyResult_Error{Error: &drosselv1.Error{Code: int32(c), Message: door.Message(c, r.Err)}}
		} else {
			one.Result = &drosselv1.KeyResult_Stored{
				Stored: &drosselv1.Stored{Number: r.Number, Owner: r.Owner, Kept: r.Kept, Copied: r.Copied},
			}
		}
		out.Results = append(out.Results, one)
	}
	return out, nil
}

// GetLimits serves the call of that name.
func (s *limitsServer) GetLimits(ctx context.Context, in *drosselv1.GetLimitsRequest) (*drosselv1.GetLimitsResponse, error) {
	k, at, err := s.store.Limits(ctx, keyOf(in.GetKey()))
	switch {
	case err != nil:
		return nil, s.faults.status(ctx, err)
	case k.Text == "":
		return nil, status.Errorf(codes.NotFound, "the key has no limits of its own: it gets those of policy %s", k.Policy)
	}
	return &drosselv1.GetLimitsResponse{Limits: k.Text, Number: at.Number, Owner: at.Owner}, nil
}

func keyOf(k *drosselv1.LimitsKey) policy.KeyLimits {
	out := policy.KeyLimits{Policy: k.GetPolicy(), Parts: make([]string, len(k.GetParts()))}
	for i, part := range k.GetParts() {
		out.Parts[i] = string(part)
	}
	return out
}
