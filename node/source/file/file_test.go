package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node/source"
)

func TestFound(t *testing.T) {
	path := policies(t, "first")
	changed := time.UnixMilli(1_700_000_000_123)
	ok(t, os.Chtimes(path, changed, changed))
	f := watch(t, path, never).finds(t, "first")
	if f.Name != path || f.Revision != 1_700_000_000_123 {
		t.Errorf("found %s at %d, want %s at %d", f.Name, f.Revision, path, changed.UnixMilli())
	}
}

// No test here is found by polling but those that say so.
func TestChanges(t *testing.T) {
	path := policies(t, "first")
	w := watch(t, path, never)
	w.finds(t, "first")
	write(t, path, "second, in place")
	w.finds(t, "second, in place")
	replace(t, path, "third, by rename")
	w.finds(t, "third, by rename")
	write(t, path, "third, by rename") // no news
	write(t, path, "fourth, of the new file")
	w.finds(t, "fourth, of the new file")
	ok(t, os.Remove(path))
	w.fails(t, source.ErrMissing, path, "put it there")
	write(t, path, "fourth, of the new file") // what was found last: no news either
	write(t, path, "fifth, made anew")
	w.finds(t, "fifth, made anew")
	write(t, path, "")
	w.finds(t, "")
}

func TestMissingAtFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.yaml")
	w := watch(t, path, never)
	w.fails(t, source.ErrMissing)
	write(t, path, "first")
	w.finds(t, "first")
}

func TestUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.yaml")
	ok(t, os.Mkdir(path, 0o700))
	w := watch(t, path, never)
	w.fails(t, source.ErrUnreadable, path, "no regular file")
	ok(t, os.Remove(path))
	write(t, path, "first")
	w.finds(t, "first")
	for len(w.failed) > 0 { // if the machine halts between the two
		w.fails(t, source.ErrMissing)
	}
}

func TestTooLarge(t *testing.T) {
	path := policies(t, "first")
	w := watch(t, path, never)
	w.finds(t, "first")
	replace(t, path, strings.Repeat("x", policy.MaxTextBytes+1))
	w.fails(t, source.ErrTooLarge, path, "1048576 bytes", "shorten it")
	replace(t, path, strings.Repeat("y", policy.MaxTextBytes))
	w.finds(t, strings.Repeat("y", policy.MaxTextBytes))
}

// A directory that is not there cannot be watched, and one above is not: polling sees what becomes of them.
func TestPolling(t *testing.T) {
	dir := t.TempDir()
	current := filepath.Join(dir, "current")
	path := filepath.Join(current, "limits.yaml")
	w := watch(t, path, 20*time.Millisecond)
	w.fails(t, source.ErrMissing)
	for _, release := range []string{"1", "2", "3"} {
		ok(t, os.Mkdir(filepath.Join(dir, release), 0o700))
		write(t, filepath.Join(dir, release, "limits.yaml"), "release "+release)
		ok(t, os.Symlink(release, current+"~"), os.Rename(current+"~", current))
		w.finds(t, "release "+release)
	}
	write(t, path, "in place")
	w.finds(t, "in place")
}

// A directory that is replaced by another of its name is watched like the first.
func TestDirectoryReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policies")
	path := filepath.Join(dir, "limits.yaml")
	ok(t, os.Mkdir(dir, 0o700))
	write(t, path, "first")
	w := watch(t, path, 200*time.Millisecond)
	w.finds(t, "first")
	ok(t, os.Rename(dir, dir+".old"))
	w.fails(t, source.ErrMissing)
	ok(t, os.Mkdir(dir, 0o700))
	write(t, path, "second")
	w.finds(t, "second")
	write(t, path, "third")
	w.finds(t, "third")
}

func TestConfig(t *testing.T) {
	for _, test := range []struct {
		cfg  Config
		said string
	}{
		{Config{}, "Path is empty"},
		{Config{Path: "a", Poll: -1}, "Poll is -1ns"},
	} {
		if _, err := New(test.cfg); !errors.Is(err, source.ErrConfig) || !strings.Contains(err.Error(), test.said) {
			t.Errorf("%+v: got %v, want one that says %q", test.cfg, err, test.said)
		}
	}
}
