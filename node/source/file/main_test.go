package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/node/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 20 * time.Second // how long a test waits for what takes a fraction of a second on a calm machine
	never    = time.Hour
)

// watched is a Watch under test, with what it has said.
type watched struct {
	found  chan source.Found
	failed chan error
}

// watch starts a Watch, which ends with the test.
func watch(t *testing.T, path string, poll time.Duration) *watched {
	t.Helper()
	s, err := New(Config{Path: path, Poll: poll})
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{make(chan source.Found, 100), make(chan error, 100)}
	var last *string
	found := func(f source.Found) {
		text := string(f.Text)
		if last != nil && *last == text {
			t.Errorf("found %.50q twice in a row", text)
		}
		last = &text
		w.found <- f
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- s.Watch(ctx, found, func(err error) {
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

// finds waits for a text, which is the next. Its beginning may come first, if the machine halts who is writing it.
func (w *watched) finds(t *testing.T, text string) source.Found {
	t.Helper()
	for {
		f := receive(t, "the text "+text, w.found)
		if string(f.Text) == text {
			return f
		}
		if !strings.HasPrefix(text, string(f.Text)) {
			t.Fatalf("found %.50q, want %q", f.Text, text)
		}
	}
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

// ok fails the test if any of these is an error.
func ok(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	ok(t, os.WriteFile(path, []byte(text), 0o600))
}

// replace does as editors do: a new file, renamed over the old.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+"~", text)
	ok(t, os.Rename(path+"~", path))
}

// policies returns the path of a file with a text, in a directory of its own.
func policies(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	write(t, path, text)
	return path
}
