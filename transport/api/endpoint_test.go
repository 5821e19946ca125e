package api

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// slow decides when it is told to.
type slow struct{ asked, decide chan struct{} }

func (s slow) Check(context.Context, policy.Request) (policy.Decision, error) {
	s.asked <- struct{}{}
	<-s.decide
	return policy.Decision{Allowed: true, DecidedBy: policy.Owner}, nil
}

func (s slow) CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result {
	results := make([]policy.Result, len(reqs))
	for i := range reqs {
		results[i].Decision, results[i].Err = s.Check(ctx, reqs[i])
	}
	return results
}

// TestNameChanges: a node that a name stands for no more is asked no more, but what it was asked is answered; one that is configured
// by the same address stays.
func TestNameChanges(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, s := grpc.NewServer(), slow{make(chan struct{}), make(chan struct{})}
	Register(server, s, nil)
	RegisterHealth(server).Resume()
	go server.Serve(l)
	defer server.Stop()
	addr := l.Addr().String()
	c, err := Dial(ClientConfig{Endpoints: []string{"127.0.0.1:1"}, Deadline: time.Minute, Fallback: FallbackError})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.change("nodes:1", []string{addr, addr, "127.0.0.1:1"})
	if n := c.Stats().Endpoints; n != 3 {
		t.Errorf("%d endpoints, want 3", n)
	}
	answer := make(chan error)
	go func() {
		_, err := c.Check(t.Context(), policy.Request{Policy: "p", Key: "k"})
		answer <- err
	}()
	<-s.asked
	c.mu.Lock()
	e := c.endpoints[1]
	c.mu.Unlock()
	c.change("nodes:1", nil)
	if st := c.Stats(); st.Endpoints != 1 {
		t.Errorf("%+v, want the one that is configured", st)
	}
	close(s.decide)
	if err := <-answer; err != nil {
		t.Errorf("what was under way: %v", err)
	}
	for state := e.conn.GetState(); state.String() != "SHUTDOWN"; state = e.conn.GetState() {
		if !e.conn.WaitForStateChange(t.Context(), state) {
			t.Fatal("the connection stays")
		}
	}
}
