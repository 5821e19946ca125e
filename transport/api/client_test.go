package api_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api"
)

// station is a server of the API that decides as it is told.
type station struct {
	addr   string
	server *grpc.Server
	health *health.Server
	decide atomic.Pointer[func(policy.Request) (policy.Decision, error)]
	asked  atomic.Int64
	calls  atomic.Int64
}

func (s *station) Check(_ context.Context, req policy.Request) (policy.Decision, error) {
	s.asked.Add(1)
	return (*s.decide.Load())(req)
}

func (s *station) CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result {
	s.calls.Add(1)
	results := make([]policy.Result, len(reqs))
	for i := range reqs {
		results[i].Decision, results[i].Err = s.Check(ctx, reqs[i])
	}
	return results
}

func (s *station) decides(f func(policy.Request) (policy.Decision, error)) { s.decide.Store(&f) }

// newStation serves at an address; "127.0.0.1:0" is a free one.
func newStation(t testing.TB, addr, name string, options ...grpc.ServerOption) *station {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &station{addr: l.Addr().String(), server: grpc.NewServer(options...)}
	s.decides(func(policy.Request) (policy.Decision, error) {
		return policy.Decision{Allowed: true, Limit: 10, Remaining: 9, DecidedBy: policy.Owner, Node: name}, nil
	})
	api.Register(s.server, s, nil)
	s.health = api.RegisterHealth(s.server)
	s.health.Resume()
	go s.server.Serve(l)
	t.Cleanup(s.server.Stop)
	return s
}

func dialed(t testing.TB, cfg api.ClientConfig) *api.Client {
	t.Helper()
	c, err := api.Dial(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("waited a minute for %s", what)
		case <-tick.C:
		}
	}
}

func ready(t testing.TB, c *api.Client, n int) {
	t.Helper()
	eventually(t, fmt.Sprint(n, " nodes to be ready"), func() bool { return c.Stats().Ready == n })
}

var anyRequest = rapid.Custom(func(t *rapid.T) policy.Request {
	text := rapid.StringMatching(`[a-zé]{0,5}`)
	r := policy.Request{
		Policy: text.Draw(t, "policy"), Cost: rapid.Int64Range(0, 100).Draw(t, "cost"), Priority: rapid.IntRange(-5, 5).Draw(t, "priority"),
		CheckOnly: rapid.Bool().Draw(t, "look"), Refund: rapid.Bool().Draw(t, "refund"),
	}
	switch rapid.IntRange(0, 3).Draw(t, "key") {
	case 0:
		r.Parts = []string{string(rapid.SliceOf(rapid.Byte()).Draw(t, "part"))}
	case 1:
		r.Parts = rapid.SliceOfN(text, 2, 5).Draw(t, "parts")
	case 2:
		r.Attributes = rapid.MapOfN(text, text, 1, 3).Draw(t, "attributes")
	}
	if rapid.Bool().Draw(t, "costs") {
		r.Costs = rapid.MapOfN(text, rapid.Int64Range(0, 9), 1, 3).Draw(t, "by unit")
	}
	if rapid.Bool().Draw(t, "limit") {
		r.Limit = &bucket.Limit{Count: rapid.Int64Range(0, 1e6).Draw(t, "count"), Per: time.Duration(rapid.Int64Range(1, 1e15).Draw(t, "per")),
			Burst: rapid.Int64Range(0, 1e6).Draw(t, "burst")}
		if r.Limit.Count == 0 {
			r.Limit.Count, r.Limit.Burst = 1, 1
		}
	}
	return r
})

var anyDecision = rapid.Custom(func(t *rapid.T) policy.Decision {
	span := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(0, 1<<62).Draw(t, "span")) })
	d := policy.Decision{
		Allowed: rapid.Bool().Draw(t, "allowed"), Degraded: rapid.Bool().Draw(t, "degraded"), Overage: rapid.Bool().Draw(t, "overage"),
		ShadowDenied: rapid.Bool().Draw(t, "shadow"), DecidedBy: policy.DecidedBy(rapid.IntRange(0, int(policy.MissingKey)).Draw(t, "by")),
		Policy: "p", LimitName: "l", Unit: "requests", Limit: rapid.Int64Range(0, 1<<53).Draw(t, "limit"), Node: "n",
		Remaining: rapid.Int64Range(0, 1<<53).Draw(t, "remaining"), Window: span.Draw(t, "window"), ResetAfter: span.Draw(t, "reset"),
	}
	if d.Never = !d.Allowed && rapid.Bool().Draw(t, "never"); !d.Never {
		d.RetryAfter = span.Draw(t, "retry")
	}
	return d
})

// TestClientCarriesAll: a request arrives as it was asked, and its decision comes back as it was made.
func TestClientCarriesAll(t *testing.T) {
	s := newStation(t, "127.0.0.1:0", "n1")
	c := dialed(t, api.ClientConfig{Endpoints: []string{s.addr}, Deadline: time.Minute})
	rapid.Check(t, func(t *rapid.T) {
		want, decision := anyRequest.Draw(t, "request"), anyDecision.Draw(t, "decision")
		var got policy.Request
		s.decides(func(r policy.Request) (policy.Decision, error) { got = r; return decision, nil })
		d, err := c.Check(context.Background(), want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decision, d); diff != "" {
			t.Fatalf("decision (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("request (-want +got):\n%s", diff)
		}
	})
	for text, req := range map[string]policy.Request{
		"write it into a policy": {Limit: &bucket.Limit{Algorithm: bucket.FixedWindow, Count: 1, Per: 1, Burst: 1}},
		`attribute "a"`:          {Attributes: map[string]string{"a": "\xff"}},
		"Policy is not UTF-8":    {Policy: "\xff"},
		`unit "\xff"`:            {Costs: map[string]int64{"\xff": 1}},
		"Priority is 2147483648": {Priority: 1 << 31},
		"want at most 3145728":   {Attributes: map[string]string{"a": strings.Repeat("a", 3<<20)}},
	} {
		if _, err := c.Check(t.Context(), req); !errors.Is(err, policy.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want ErrInvalid and %s", err, text)
		}
	}
}

// TestClientBatches: checks that come at the same time go together, each gets its own answer, and a bad one fails alone.
func TestClientBatches(t *testing.T) {
	s := newStation(t, "127.0.0.1:0", "n1")
	s.decides(func(r policy.Request) (policy.Decision, error) {
		n, err := strconv.ParseInt(r.Parts[0], 10, 64)
		if err != nil {
			return policy.Decision{}, fmt.Errorf("%w: key %s is no number", policy.ErrInvalid, r.Parts[0])
		}
		return policy.Decision{Allowed: true, Remaining: n, DecidedBy: policy.Owner}, nil
	})
	c := dialed(t, api.ClientConfig{Endpoints: []string{s.addr}, Deadline: time.Minute})
	ready(t, c, 1)
	const callers = 2000
	var asking sync.WaitGroup
	for i := range callers {
		asking.Go(func() {
			key := fmt.Sprint(i)
			if i%100 == 0 {
				key = "x" + key
			}
			d, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: key})
			switch {
			case i%100 == 0:
				if !errors.Is(err, policy.ErrInvalid) || !strings.Contains(err.Error(), key+" is no number") {
					t.Errorf("key %s: %+v %v", key, d, err)
				}
			case err != nil || d.Remaining != int64(i):
				t.Errorf("key %s: %+v %v", key, d, err)
			}
		})
	}
	asking.Wait()
	st := c.Stats()
	if st.Checks != callers || st.Batches >= callers/2 || st.Errors != callers/100 {
		t.Errorf("%+v, want far fewer calls than checks", st)
	}
	t.Logf("%d checks in %d calls", st.Checks, st.Batches)
	results := c.CheckBatch(t.Context(), []policy.Request{{Key: "1"}, {Key: "x"}, {Key: "3"}})
	if results[0].Decision.Remaining != 1 || results[1].Err == nil || results[2].Decision.Remaining != 3 {
		t.Errorf("a batch: %+v", results)
	}
}

// TestClientLargeCalls: what is too much for one call goes in several.
func TestClientLargeCalls(t *testing.T) {
	s := newStation(t, "127.0.0.1:0", "n1")
	c := dialed(t, api.ClientConfig{Endpoints: []string{s.addr}, Deadline: time.Minute, Fallback: api.FallbackError})
	ready(t, c, 1)
	reqs := make([]policy.Request, 100)
	for i := range reqs {
		reqs[i].Attributes = map[string]string{"a": strings.Repeat("a", 100<<10)}
	}
	reqs[50].Attributes = map[string]string{"a": strings.Repeat("a", 3<<20-100)}
	for i, r := range c.CheckBatch(t.Context(), reqs) {
		if r.Err != nil || !r.Decision.Allowed {
			t.Fatalf("check %d: %+v", i, r)
		}
	}
}

// TestClientOnlyNode: a node that was late is asked again at once if there is no other.
func TestClientOnlyNode(t *testing.T) {
	s := newStation(t, "127.0.0.1:0", "n1")
	hang := make(chan struct{})
	s.decides(func(policy.Request) (policy.Decision, error) { <-hang; return policy.Decision{}, nil })
	c := dialed(t, api.ClientConfig{Endpoints: []string{s.addr}, Deadline: time.Minute, Fallback: api.FallbackError})
	ready(t, c, 1)
	for range 8 { // after which it would rest for 5 s
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		c.Check(ctx, policy.Request{Policy: "p", Key: "k"})
		cancel()
	}
	s.decides(func(policy.Request) (policy.Decision, error) { return policy.Decision{Allowed: true}, nil })
	close(hang)
	begun := time.Now()
	if d, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: "k"}); err != nil || !d.Allowed || time.Since(begun) > 4*time.Second {
		t.Errorf("%+v %v after %v", d, err, time.Since(begun))
	}
}

// TestClientNamedTLS: the certificate of a node that is known by a name is for that name.
func TestClientNamedTLS(t *testing.T) {
	cert, roots := certificate(t, "localhost")
	s := newStation(t, "127.0.0.1:0", "n1", grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	_, port, _ := net.SplitHostPort(s.addr)
	for _, override := range []string{"", "localhost"} {
		c := dialed(t, api.ClientConfig{
			Endpoints: []string{"dns:///localhost:" + port}, TLS: credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: override}),
			Deadline: 20 * time.Second, Fallback: api.FallbackError,
		})
		if d, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: "k"}); err != nil || d.Node != "n1" {
			t.Errorf("ServerName %q: %+v %v", override, d, err)
		}
	}
}

// certificate makes one for a name.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, roots
}

// plainToken must not be sent in plain text.
type plainToken struct{}

func (plainToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return nil, nil
}
func (plainToken) RequireTransportSecurity() bool { return true }

// TestClientSpreads: nodes are asked in turn; one that ends, or takes no checks, is asked no more, and again when it does.
func TestClientSpreads(t *testing.T) {
	a, b := newStation(t, "127.0.0.1:0", "a"), newStation(t, "127.0.0.1:0", "b")
	c := dialed(t, api.ClientConfig{Endpoints: []string{a.addr, b.addr}, Deadline: 10 * time.Second, Fallback: api.FallbackError})
	ready(t, c, 2)
	ask := func(n int) map[string]int {
		t.Helper()
		by := map[string]int{}
		for range n {
			d, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: "k"})
			if err != nil {
				t.Fatal(err)
			}
			by[d.Node]++
		}
		return by
	}
	if by := ask(100); by["a"] < 30 || by["b"] < 30 {
		t.Errorf("asked in turn: %v", by)
	}
	a.health.Shutdown()
	ready(t, c, 1)
	if by := ask(50); by["b"] != 50 {
		t.Errorf("a takes no checks: %v", by)
	}
	a.health.Resume()
	ready(t, c, 2)
	if by := ask(50); by["a"] == 0 {
		t.Errorf("a takes checks again: %v", by)
	}
	// A node that refuses by its word has charged nothing: the other is asked.
	a.decides(func(policy.Request) (policy.Decision, error) { return policy.Decision{}, policy.ErrUnavailable })
	if by := ask(50); by["b"] != 50 {
		t.Errorf("a refuses: %v", by)
	}
	b.server.Stop()
	ready(t, c, 1)
	newStation(t, b.addr, "b")
	ready(t, c, 2)
	if by := ask(20); by["b"] != 20 {
		t.Errorf("b is back: %v", by)
	}
}

// TestClientFallback: whatever is wrong with the nodes, a check is answered in its time, by the rule.
func TestClientFallback(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	stuck := newStation(t, "127.0.0.1:0", "stuck")
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	stuck.decides(func(policy.Request) (policy.Decision, error) { <-never; return policy.Decision{}, nil })
	gone := newStation(t, "127.0.0.1:0", "gone")
	gone.server.Stop()
	for what, addr := range map[string]string{"it accepts and says nothing": silent.Addr().String(), "it never answers": stuck.addr, "nobody listens": gone.addr} {
		for _, rule := range []api.Fallback{api.FallbackAllow, api.FallbackDeny, api.FallbackError} {
			c := dialed(t, api.ClientConfig{Endpoints: []string{addr}, Deadline: 50 * time.Millisecond, Fallback: rule})
			if addr == stuck.addr {
				ready(t, c, 1)
			}
			var asking sync.WaitGroup
			for range 20 {
				asking.Go(func() {
					begun := time.Now()
					d, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: "k"})
					if took := time.Since(begun); took > 5*time.Second {
						t.Errorf("%s: it took %v", what, took)
					}
					switch {
					case rule == api.FallbackError:
						if !errors.Is(err, policy.ErrUnavailable) {
							t.Errorf("%s: %+v %v, want ErrUnavailable", what, d, err)
						}
					case err != nil || d.Allowed != (rule == api.FallbackAllow) || d.DecidedBy != policy.Timeout || !d.Degraded:
						t.Errorf("%s, rule %d: %+v %v", what, rule, d, err)
					}
				})
			}
			asking.Wait()
			if st := c.Stats(); st.ByFallback != 20 {
				t.Errorf("%s: %+v", what, st)
			}
			c.Close()
		}
	}
}

// TestClientNotTwice: a check whose answer was lost is not asked of another node: it may have been charged.
func TestClientNotTwice(t *testing.T) {
	a, b := newStation(t, "127.0.0.1:0", "a"), newStation(t, "127.0.0.1:0", "b")
	hang := make(chan struct{})
	for _, s := range []*station{a, b} {
		s.decides(func(policy.Request) (policy.Decision, error) { <-hang; return policy.Decision{}, nil })
	}
	c := dialed(t, api.ClientConfig{Endpoints: []string{a.addr, b.addr}, Deadline: 200 * time.Millisecond, Fallback: api.FallbackError})
	ready(t, c, 2)
	_, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: "k"})
	if !errors.Is(err, policy.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	close(hang)
	c.Close()
	if n := a.asked.Load() + b.asked.Load(); n != 1 {
		t.Errorf("it was asked %d times, want once", n)
	}
}

// TestClientGivesUp: who leaves is let go at once, what is too much is decided at once, and a closed client says so.
func TestClientGivesUp(t *testing.T) {
	c := dialed(t, api.ClientConfig{Endpoints: []string{"127.0.0.1:1"}, Deadline: time.Hour, MaxWaiting: 3})
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 4)
	for range 3 {
		go func() {
			_, err := c.Check(ctx, policy.Request{Policy: "p", Key: "k"})
			left <- err
		}()
	}
	eventually(t, "three to wait", func() bool { return c.Stats().Checks == 3 })
	if d, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: "k"}); err != nil || d.DecidedBy != policy.Timeout {
		t.Errorf("one too many: %+v %v", d, err)
	}
	cancel()
	for range 3 {
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who left: %v", err)
		}
	}
	waiting := dialed(t, api.ClientConfig{Endpoints: []string{"127.0.0.1:1"}, Deadline: time.Hour})
	go func() {
		_, err := waiting.Check(context.Background(), policy.Request{Policy: "p", Key: "k"})
		left <- err
	}()
	eventually(t, "one to wait", func() bool { return waiting.Stats().Checks == 1 })
	waiting.Close()
	waiting.Close()
	if err := <-left; !errors.Is(err, policy.ErrUnavailable) {
		t.Errorf("while it was closed: %v", err)
	}
	if _, err := waiting.Check(t.Context(), policy.Request{Policy: "p", Key: "k"}); !errors.Is(err, policy.ErrUnavailable) {
		t.Errorf("of a closed client: %v", err)
	}
}

// TestClientByName: a name stands for all its addresses.
func TestClientByName(t *testing.T) {
	s := newStation(t, "127.0.0.1:0", "n1")
	_, port, _ := net.SplitHostPort(s.addr)
	c := dialed(t, api.ClientConfig{Endpoints: []string{"dns:///localhost:" + port}, Deadline: time.Minute})
	if d, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: "k"}); err != nil || d.Node != "n1" {
		t.Errorf("%+v %v", d, err)
	}
}

func TestClientConfig(t *testing.T) {
	_, err := api.Dial(api.ClientConfig{Endpoints: []string{"n1", "dns:///n2"}, Deadline: -1, MaxWaiting: -1, Fallback: 9, Token: plainToken{}})
	for _, part := range []string{`"n1"`, `"dns:///n2"`, "Deadline is -1", "MaxWaiting is -1", "Fallback is 9", "set TLS"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %s", err, part)
		}
	}
	if _, err := api.Dial(api.ClientConfig{}); err == nil || !strings.Contains(err.Error(), "Endpoints is empty") {
		t.Error(err)
	}
}

// BenchmarkClient has 64 callers ask one node; it reports how many checks went in a call.
func BenchmarkClient(b *testing.B) {
	s := newStation(b, "127.0.0.1:0", "n1")
	c := dialed(b, api.ClientConfig{Endpoints: []string{s.addr}, Deadline: time.Minute})
	ready(b, c, 1)
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if d, err := c.Check(context.Background(), policy.Request{Policy: "p", Key: "some-user"}); err != nil || d.Degraded {
				b.Error(d, err)
			}
		}
	})
	st := c.Stats()
	b.ReportMetric(float64(st.Checks)/float64(st.Batches), "checks/call")
}

// TestClientRecovers: checks that nobody waits for any more do not keep others from being asked, however full the queue was.
func TestClientRecovers(t *testing.T) {
	s := newStation(t, "127.0.0.1:0", "n1")
	hang := make(chan struct{})
	s.decides(func(policy.Request) (policy.Decision, error) { <-hang; return policy.Decision{}, nil })
	c := dialed(t, api.ClientConfig{Endpoints: []string{s.addr}, Deadline: 20 * time.Millisecond, MaxWaiting: 3, Fallback: api.FallbackError})
	ready(t, c, 1)
	for range 2 { // the second time the node rests, and nobody is sent
		var asking sync.WaitGroup
		for range 50 {
			asking.Go(func() { c.Check(t.Context(), policy.Request{Policy: "p", Key: "k"}) })
		}
		asking.Wait()
	}
	s.decides(func(policy.Request) (policy.Decision, error) { return policy.Decision{Allowed: true}, nil })
	close(hang)
	eventually(t, "the node to be asked again", func() bool {
		_, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: "k"})
		return err == nil
	})
}

// TestClientKeepsAnswers: of a batch in which some answers are late the others count.
func TestClientKeepsAnswers(t *testing.T) {
	a, b := newStation(t, "127.0.0.1:0", "a"), newStation(t, "127.0.0.1:0", "b")
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for _, s := range []*station{a, b} {
		s.decides(func(r policy.Request) (policy.Decision, error) {
			if r.Parts[0] == "late" {
				<-hang
			}
			return policy.Decision{DecidedBy: policy.Owner}, nil
		})
	}
	c := dialed(t, api.ClientConfig{Endpoints: []string{a.addr, b.addr}, Deadline: 300 * time.Millisecond})
	ready(t, c, 2)
	reqs := []policy.Request{{Policy: "p", Key: "late"}}
	for range 500 { // they go in the call after that one
		reqs = append(reqs, policy.Request{Policy: "p", Key: "k"})
	}
	for i, r := range c.CheckBatch(t.Context(), reqs)[1:] {
		if r.Err != nil || r.Decision.DecidedBy != policy.Owner || r.Decision.Allowed {
			t.Fatalf("check %d: %+v %v, want the denial that was answered", i, r.Decision, r.Err)
		}
	}
}

// TestClientLeaves: who has left is not charged at another node.
func TestClientLeaves(t *testing.T) {
	a, b := newStation(t, "127.0.0.1:0", "a"), newStation(t, "127.0.0.1:0", "b")
	refuse := make(chan struct{})
	for _, s := range []*station{a, b} {
		s.decides(func(policy.Request) (policy.Decision, error) {
			<-refuse
			return policy.Decision{}, policy.ErrUnavailable
		})
	}
	c := dialed(t, api.ClientConfig{Endpoints: []string{a.addr, b.addr}, Deadline: time.Minute})
	ready(t, c, 2)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := c.Check(ctx, policy.Request{Policy: "p", Key: "k"})
		left <- err
	}()
	eventually(t, "one to be asked", func() bool { return a.asked.Load()+b.asked.Load() == 1 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, s := range []*station{a, b} {
		s.decides(func(policy.Request) (policy.Decision, error) { return policy.Decision{Allowed: true}, nil })
	}
	close(refuse)
	for range 10 { // after which the refusal has been read
		if _, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: "other"}); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	if n := a.asked.Load() + b.asked.Load(); n != 11 {
		t.Errorf("11 checks were asked %d times: who left was charged", n)
	}
}
