package etcd

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/drossel-dev/drossel/node/source"
)

// connect returns a client. It connects when it is needed, which is at once if there is a password.
func (s *Source) connect(ctx context.Context) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Context:              ctx,
		Endpoints:            s.cfg.Endpoints,
		Username:             s.cfg.Username,
		Password:             s.cfg.Password,
		TLS:                  s.cfg.TLS,
		DialTimeout:          s.cfg.Timeout,
		DialKeepAliveTime:    10 * time.Second, // etcd hangs up on who asks more often than every 5 s
		DialKeepAliveTimeout: 5 * time.Second,
		MaxUnaryRetries:      2, // the second is with a new token, if the one that the password gave is no longer valid
		Logger:               zap.NewNop(),
		DialOptions:          []grpc.DialOption{grpc.WithChainUnaryInterceptor(failFast)},
	})
}

// failFast makes a call fail when there is no connection, and say why. The client would have it wait for one, and know
// only that none has come in time.
func failFast(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	return invoke(ctx, method, request, reply, conn, append(opts, grpc.WaitForReady(false))...)
}

// state is what etcd has under the key.
type state struct {
	at int64            // the revision of the store in which it is so
	kv *mvccpb.KeyValue // nil: there is no such key
}

// same tells whether nothing has happened to the key between two states.
func (a state) same(b state) bool {
	if a.kv == nil || b.kv == nil {
		return a.kv == b.kv
	}
	return a.kv.ModRevision == b.kv.ModRevision
}

// read asks for the key. Its consistency is the default of etcd, linearizable: it never goes back.
func (s *Source) read(ctx context.Context, client *clientv3.Client, opts ...clientv3.OpOption) (state, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	answer, err := client.Get(ctx, s.cfg.Key, opts...)
	if err != nil {
		return state{}, err
	}
	now := state{at: answer.Header.Revision}
	if len(answer.Kvs) > 0 {
		now.kv = answer.Kvs[0]
	}
	return now, nil
}

// watch reports what becomes of the key from a state on. It returns nil when the watch has ended, or has missed something,
// and an error when etcd cannot be asked.
func (s *Source) watch(ctx context.Context, client *clientv3.Client, now state, report *source.Reporter,
	retry *source.Backoff) error {
	// A member that has lost the others ends the watch, instead of keeping it without a word.
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	late := time.AfterFunc(s.cfg.Timeout, cancel) // Watch waits until etcd has begun
	changes := client.Watch(ctx, s.cfg.Key, clientv3.WithRev(now.at+1))
	late.Stop()
	ticks := time.NewTicker(s.interval)
	defer ticks.Stop()
	for {
		select {
		case change, open := <-changes:
			if !open || change.Err() != nil { // of compaction, say
				return nil
			}
			for _, event := range change.Events {
				now = state{event.Kv.ModRevision, event.Kv}
				if event.Type == clientv3.EventTypeDelete {
					now.kv = nil
				}
				s.report(report, now)
			}
		case <-ticks.C:
			there, err := s.read(ctx, client, clientv3.WithKeysOnly())
			if err != nil {
				return err
			}
			if !there.same(now) {
				return nil
			}
		}
		retry.Reset() // it is well
	}
}
