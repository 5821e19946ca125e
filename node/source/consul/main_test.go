package consul

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

const patience = 20 * time.Second // how long a test waits for what takes a fraction of a second on a calm machine

// watched is a Watch under test, with what it has said.
type watched struct {
	found  chan source.Found
	failed chan error
}

// watch starts a Watch of the server's key, which ends with the test.
func watch(t *testing.T, s *server, change ...func(*Source)) *watched {
	t.Helper()
	src, err := New(Config{Address: s.URL, Key: key, Token: token, Datacenter: dc})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(src)
	}
	w := &watched{make(chan source.Found, 100), make(chan error, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- src.Watch(ctx, func(f source.Found) { w.found <- f }, func(err error) {
			if err != nil { // that trouble is over is the Reporter's to say
				w.failed <- err
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := receive(t, "the end of Watch", done); err != nil {
			t.Errorf("Watch returned %v, want nil", err)
		}
		for len(w.found) > 0 {
			t.Errorf("found beyond what was expected: %.50q", (<-w.found).Text)
		}
		for len(w.failed) > 0 {
			t.Errorf("failed beyond what was expected: %v", <-w.failed)
		}
	})
	return w
}

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
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("failed with %q, which does not say %q", err, part)
		}
	}
	if !errors.Is(err, kind) {
		t.Fatalf("failed with %v, want %v", err, kind)
	}
}

// asked waits until so many more questions have come, and returns the last of them.
func (s *server) asked(t *testing.T, n int) (q question) {
	t.Helper()
	for range n {
		q = receive(t, "a question", s.questions)
	}
	return q
}
