package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/node/source"
)

// interval is how often a key that is watched is asked for as well.
const interval = 10 * time.Second

// Source is a key with policies. Safe for concurrent use.
type Source struct {
	cfg      Config
	interval time.Duration
}

// New checks the configuration and connects to nothing. The error wraps source.ErrConfig and names all that is wrong.
func New(cfg Config) (*Source, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &Source{cfg, interval}, nil
}

// Watch is as source.Source has it. Trouble is source.ErrUnreachable, source.ErrRefused, source.ErrMissing or
// source.ErrTooLarge. That etcd is gone is found within 10 s and Config.Timeout.
func (s *Source) Watch(ctx context.Context, found func(source.Found), failed func(error)) error {
	report := source.NewReporter(found, failed)
	var retry source.Backoff
	for ctx.Err() == nil {
		err := s.session(ctx, report, &retry)
		if ctx.Err() == nil {
			report.Failed(s.trouble(err))
			retry.Wait(ctx)
		}
	}
	return nil
}

// session follows the key over one client, until etcd cannot be asked.
func (s *Source) session(ctx context.Context, report *source.Reporter, retry *source.Backoff) error {
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		now, err := s.read(ctx, client)
		if err != nil {
			return err
		}
		s.report(report, now)
		if err := s.watch(ctx, client, now, report, retry); err != nil {
			return err
		}
		retry.Wait(ctx) // a watch may end as soon as it begins
	}
}

func (s *Source) report(to *source.Reporter, now state) {
	if now.kv == nil {
		to.Failed(fmt.Errorf("%s is %w; put it there with: etcdctl put %s < FILE; until then the policies stay as they are",
			s.name(), source.ErrMissing, s.cfg.Key))
		return
	}
	to.Found(source.Found{Name: s.name(), Text: now.kv.Value, Revision: uint64(now.kv.ModRevision)})
}

func (s *Source) name() string { return "etcd key " + s.cfg.Key }

// trouble says what an error of etcd's client means.
func (s *Source) trouble(err error) error {
	var said rpctypes.EtcdError
	if errors.As(err, &said) {
		switch said.Code() {
		case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated:
			return fmt.Errorf("%s is %w: %w; give the name and the password of a user who may read it, until then the policies stay "+
				"as they are", s.name(), source.ErrRefused, err)
		}
	}
	return fmt.Errorf("%s is %w at %s: %s; see that etcd runs there and has a leader, until it answers the policies stay as "+
		"they are", s.name(), source.ErrUnreachable, strings.Join(s.cfg.Endpoints, ", "), status.Convert(err).Message())
}
