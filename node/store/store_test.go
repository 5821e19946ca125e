package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/store"
)

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func edition(number uint64, digest string) node.Edition {
	return node.Edition{
		Number: number, Digest: digest, Name: "limits.yaml", Node: "n1", Time: time.UnixMilli(int64(number)).UTC(), Text: fmt.Sprint("text ", number),
	}
}

func TestEditionsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	var want []node.Edition
	for i := range uint64(node.MaxEditions + 5) {
		e := edition(i+1, "aa")
		if err := s.KeepEdition(e); err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	lower := edition(node.MaxEditions+5, "a0") // of the same number, and loses
	if err := s.KeepEdition(lower); err != nil {
		t.Fatal(err)
	}
	want = append(want[6:len(want)-1], lower, want[len(want)-1])
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, dir).Editions()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(file); !errors.Is(err, store.ErrStore) {
		t.Errorf("%v: a file in place of the directory", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "drossel.db"), make([]byte, 9000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(dir); !errors.Is(err, store.ErrStore) {
		t.Errorf("%v: a damaged file", err)
	}
	used := t.TempDir()
	open(t, used)
	if _, err := store.Open(used); !errors.Is(err, store.ErrStore) {
		t.Errorf("%v: a directory in use", err)
	}
}
