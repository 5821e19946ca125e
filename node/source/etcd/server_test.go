package etcd

import (
	"bytes"
	"context"
	"net"
	"os/exec"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// server is an etcd of one test, and a client to change things by.
type server struct {
	dir            string
	address, peer  string // host:port
	by             *clientv3.Client
	user, password string // of by
	kill           func() // and wait for the end; nil while it does not run
}

// serve starts an etcd that ends with the test. Without the program etcd the test is skipped.
func serve(t *testing.T) *server {
	t.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("there is no etcd; on Debian: apt-get install etcd-server")
	}
	s := &server{dir: t.TempDir()}
	t.Cleanup(func() { s.stop(t) })
	s.start(t, func() { s.address, s.peer = freePort(t), freePort(t) })
	return s
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer l.Close()
	return l.Addr().String()
}

// start starts the process, and again if it ends: another may have taken a port between our letting go of it and etcd's
// taking it. Before each try it calls a function.
func (s *server) start(t *testing.T, before func()) {
	t.Helper()
	for range 5 {
		before()
		said, up := s.try(t)
		if up {
			return
		}
		t.Logf("etcd has ended:\n%s", said)
	}
	t.Fatal("etcd does not start")
}

// eager finds an etcd that is about to start.
var eager = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond},
	MinConnectTimeout: patience,
}

// try starts the process, and returns when it serves, or what it said if it has ended instead.
func (s *server) try(t *testing.T) (out string, up bool) {
	t.Helper()
	client, peer := "http://"+s.address, "http://"+s.peer
	cmd := exec.Command("etcd", "--name", "test", "--data-dir", s.dir, "--initial-cluster", "test="+peer,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--heartbeat-interval", "20", "--election-timeout", "200", // ms: by default it takes a second to start
		"--bcrypt-cost", "4") // for passwords
	said := new(output)
	cmd.Stdout, cmd.Stderr = said, said
	ok(t, cmd.Start())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it was killed, or said why
		close(ended)
		cancel()
	}()
	s.kill = func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	}
	by, err := clientv3.New(clientv3.Config{
		Endpoints: []string{client}, Username: s.user, Password: s.password, DialTimeout: patience, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(eager)},
	})
	ok(t, err)
	s.by = by
	if _, err = s.by.Get(ctx, "x"); err == nil {
		return "", true
	}
	s.stop(t)
	return said.String(), false
}

// stop kills the process, as a crash does. What it has acknowledged is there when it starts again.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if s.by != nil {
		ok(t, s.by.Close())
		s.by = nil
	}
	if s.kill != nil {
		s.kill()
		s.kill = nil
	}
}

// put returns the revision of the change.
func (s *server) put(t *testing.T, text string) uint64 {
	t.Helper()
	answer, err := s.by.Put(t.Context(), key, text)
	ok(t, err)
	return uint64(answer.Header.Revision)
}

func (s *server) delete(t *testing.T) {
	t.Helper()
	_, err := s.by.Delete(t.Context(), key)
	ok(t, err)
}

// output is what a process prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
