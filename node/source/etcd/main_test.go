package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/node/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key      = "/drossel/policies"
	patience = 20 * time.Second // how long a test waits for what takes a fraction of a second on a calm machine
	never    = time.Hour
)

// watched is a Watch under test, with what it has said.
type watched struct {
	found  chan source.Found
	failed chan error
	cancel context.CancelFunc
	done   chan error
}

// watch starts a Watch of the key, which ends with the test at the latest. With a long interval it does not ask for the
// key beside its watch.
func watch(t *testing.T, interval time.Duration, cfg Config) *watched {
	t.Helper()
	cfg.Key = key
	s, err := New(cfg)
	ok(t, err)
	s.interval = interval
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{make(chan source.Found, 100), make(chan error, 100), cancel, make(chan error, 1)}
	go func() {
		w.done <- s.Watch(ctx, func(f source.Found) { w.found <- f }, func(err error) {
			if err != nil { // that trouble is over is the Reporter's to say
				w.failed <- err
			}
		})
		close(w.done)
	}()
	t.Cleanup(func() { w.end(t) })
	return w
}

// end ends the Watch, which must have said nothing more than was expected.
func (w *watched) end(t *testing.T) {
	t.Helper()
	w.cancel()
	if err := receive(t, "the end of Watch", w.done); err != nil {
		t.Errorf("Watch returned %v, want nil", err)
	}
	for len(w.found) > 0 {
		t.Errorf("found beyond what was expected: %.50q", (<-w.found).Text)
	}
	for len(w.failed) > 0 {
		t.Errorf("failed beyond what was expected: %v", <-w.failed)
	}
}

func at(endpoints ...string) Config { return Config{Endpoints: endpoints} }

func receive[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
	}
	return v
}

// finds waits for a text, which is the next.
func (w *watched) finds(t *testing.T, text string) source.Found {
	t.Helper()
	f := receive(t, "the text "+text, w.found)
	if string(f.Text) != text {
		t.Fatalf("found %.50q, want %.50q", f.Text, text)
	}
	return f
}

// fails waits for trouble, which is the next.
func (w *watched) fails(t *testing.T, kind error, parts ...string) {
	t.Helper()
	err := receive(t, kind.Error(), w.failed)
	for _, part := range append(parts, "etcd key "+key) {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("failed with %q, which does not say %q", err, part)
		}
	}
	if !errors.Is(err, kind) {
		t.Fatalf("failed with %v, want %v", err, kind)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
