package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// sample is one check of a load.
type sample struct {
	key         string
	asked, node string // who was asked, and who decided
	begun       time.Time
	took        time.Duration
	allowed     bool
	degraded    bool
	err         error // the check was not answered with a decision
}

func (s sample) String() string {
	return fmt.Sprintf("%s at %s, decided at %s (allowed: %v, degraded: %v) after %v, begun at %s", s.key, s.asked, s.node,
		s.allowed, s.degraded, s.took, s.begun.UTC().Format("15:04:05.000"))
}

// load is callers that ask daemons in turn, again and again, until it is stopped. Every second one asks over gRPC, the
// others over HTTP.
type load struct {
	policy string
	keys   []string
	client *web
	cancel context.CancelFunc

	callers sync.WaitGroup
	done    atomic.Int64 // checks
	turned  atomic.Int64 // times that a daemon took no more checks, and another was asked

	mu      sync.Mutex
	daemons []target
	conns   []*grpc.ClientConn // of these, and of those removed
	samples []sample
}

// target is a daemon with a connection to it.
type target struct {
	*daemon
	api drosselv1.RateLimiterClient
}

// interval is between the checks of one caller: the daemons need some of the machine as well.
const interval = 10 * time.Millisecond

// startLoad starts callers, which ask for one key after the other by the policy api.
func startLoad(t *testing.T, callers int, keys []string, daemons ...*daemon) *load {
	t.Helper()
	return startLoadOf(t, "api", callers, keys, daemons...)
}

func startLoadOf(t *testing.T, policy string, callers int, keys []string, daemons ...*daemon) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{policy: policy, keys: keys, cancel: cancel, client: newWeb(t)}
	t.Cleanup(func() {
		l.stop()
		for _, c := range l.conns {
			c.Close()
		}
	})
	for _, d := range daemons {
		l.add(t, d)
	}
	for i := range callers {
		l.callers.Go(func() { l.call(ctx, i, i*len(keys)/callers) })
	}
	return l
}

// add has a daemon asked as well.
func (l *load) add(t *testing.T, d *daemon) {
	t.Helper()
	conn, err := grpc.NewClient(d.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, conn)
	l.daemons = append(l.daemons, target{d, drosselv1.NewRateLimiterClient(conn)})
}

// remove has a daemon asked no more.
func (l *load) remove(d *daemon) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.daemons = slices.DeleteFunc(l.daemons, func(x target) bool { return x.daemon == d })
}

func (l *load) pick(turn int) target {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.daemons[turn%len(l.daemons)]
}

func (l *load) call(ctx context.Context, caller, first int) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		// The second term lets every key meet every daemon though the numbers of both may have a factor in common.
		turn := caller + i + i/len(l.keys)
		s := sample{key: l.keys[(first+i)%len(l.keys)], begun: time.Now()}
		// A check under way is let end when the load stops: it counts as well.
		l.ask(context.WithoutCancel(ctx), caller, turn, &s)
		s.took = time.Since(s.begun)
		l.mu.Lock()
		l.samples = append(l.samples, s)
		l.mu.Unlock()
		l.done.Add(1)
		select {
		case <-ctx.Done():
		case <-ticks.C:
		}
	}
}

// ask makes one check, at the next daemon if one has closed its doors.
func (l *load) ask(ctx context.Context, caller, turn int, s *sample) {
	for {
		d := l.pick(turn)
		s.asked = d.name
		a, err := l.askOne(ctx, caller, d, s.key)
		if err != nil && d.ending.Load() && refused(err) {
			l.turned.Add(1)
			turn++
			continue
		}
		s.node, s.allowed, s.degraded, s.err = a.Node, a.Allowed, a.Degraded, err
		return
	}
}

func (l *load) askOne(ctx context.Context, caller int, d target, key string) (a answer, err error) {
	if caller%2 == 0 {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		r, err := d.api.Check(ctx, &drosselv1.CheckRequest{Policy: l.policy, Key: []byte(key)})
		return answer{Allowed: r.GetAllowed(), Degraded: r.GetDegraded(), Node: r.GetNode()}, err
	}
	code, err := l.client.post(ctx, "http://"+d.http+"/v1/check", object{"policy": l.policy, "key": key}, &a)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %+v", d.name, code, a.Error)
	}
	return a, err
}

// refused says that a daemon which was told to end did not take a check, because its doors were closed: that is no failed
// check, since a process that is gone refuses whoever comes late, and whoever asks has other nodes to ask. With gRPC it is
// certain: a server that ends says which calls it has taken, and answers those. HTTP/1 does not tell a caller whose
// request meets the end of an idle connection whether it was read; it was not, for the daemon ends connections that
// have a request only once that is answered.
func refused(err error) bool {
	if s, ok := status.FromError(err); ok {
		return s.Code() == codes.Unavailable && strings.HasPrefix(s.Message(), "connection error: ")
	}
	var none *url.Error // no answer has begun
	return errors.As(err, &none) && !none.Timeout()
}

// more waits until so many more checks are done.
func (l *load) more(t *testing.T, checks int64) {
	t.Helper()
	until := l.done.Load() + checks
	waitFor(t, fmt.Sprint(checks, " checks more"), func() bool { return l.done.Load() >= until })
}

// sofar returns the checks that have ended, by their end.
func (l *load) sofar() []sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.samples)
}

// stop ends the load and returns all checks, by their beginning.
func (l *load) stop() []sample {
	l.cancel()
	l.callers.Wait()
	slices.SortFunc(l.samples, func(a, b sample) int { return a.begun.Compare(b.begun) })
	return l.samples
}
