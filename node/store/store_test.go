package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/store"
)

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir, nil)
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

// TestEntriesAreKept: the highest of a key, in the order of ids, and after the file was closed.
func TestEntriesAreKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	at := func(i uint64) bucket.ID { return bucket.ID{Hi: i / 3, Lo: i % 3} }
	for _, number := range []uint64{5, 9, 7} {
		var all []table.Entry
		for i := range uint64(10) {
			all = append(all, table.Entry{ID: at(9 - i), Number: number, Text: fmt.Sprint("text ", number)})
		}
		if err := s.KeepEntries(all); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.KeepEntries([]table.Entry{{ID: at(4), Number: 11}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	var got []table.Entry
	for after := (bucket.ID{}); ; after = got[len(got)-1].ID {
		some, err := s.Entries(after, 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			break
		}
		got = append(got, some...)
	}
	var want []table.Entry
	for i := range uint64(10) {
		want = append(want, table.Entry{ID: at(i), Number: 9, Text: "text 9"})
	}
	want[4] = table.Entry{ID: at(4), Number: 11}
	if diff := cmp.Diff(want[1:], got); diff != "" { // none has the id 0
		t.Error(diff)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(file, nil); !errors.Is(err, store.ErrStore) {
		t.Errorf("%v: a file in place of the directory", err)
	}
	used := t.TempDir()
	open(t, used)
	if _, err := store.Open(used, nil); !errors.Is(err, store.ErrStore) {
		t.Errorf("%v: a directory in use", err)
	}
}
