package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/store"
)

// opened opens a store, and returns what it said.
func opened(t *testing.T, dir string) (*store.Store, string) {
	t.Helper()
	var said bytes.Buffer
	s, err := store.Open(dir, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	return s, said.String()
}

func batch(i int) node.Batch {
	return node.Batch{Partition: i % 7, Wall: time.Unix(1_796_000_000, int64(i)), Blob: bytes.Repeat([]byte{byte(i)}, i%50)}
}

func batchesOf(t *testing.T, s *store.Store) (all []node.Batch) {
	t.Helper()
	err := s.Batches(func(b node.Batch) error {
		all = append(all, b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantBatches(t *testing.T, got []node.Batch, want ...node.Batch) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func keep(t *testing.T, s *store.Store, some ...node.Batch) {
	t.Helper()
	if _, err := s.KeepBatches(some); err != nil {
		t.Fatal(err)
	}
}

// only returns the one file that a pattern is for.
func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %v %v, want one file", pattern, names, err)
	}
	return names[0]
}

// TestBatchesAreKept: over restarts, in their order, and written anew in place of all others.
func TestBatchesAreKept(t *testing.T) {
	dir := t.TempDir()
	s, _ := opened(t, dir)
	var want []node.Batch
	for i := range 9 {
		if i%3 == 0 {
			s.Close()
			s, _ = opened(t, dir)
		}
		keep(t, s, batch(2*i), batch(2*i+1))
		want = append(want, batch(2*i), batch(2*i+1))
	}
	wantBatches(t, batchesOf(t, s), want...)
	if err := s.KeepAllBatches(slices.Values(want[5:9])); err != nil {
		t.Fatal(err)
	}
	keep(t, s, batch(99))
	s.Close()
	s, said := opened(t, dir)
	defer s.Close()
	wantBatches(t, batchesOf(t, s), append(want[5:9:9], batch(99))...)
	only(t, dir, "groups-*")
	if said != "" {
		t.Error(said)
	}
}

// TestAnew: when much more was written than there is, the store says so, and has said so no more once all was written anew.
func TestAnew(t *testing.T) {
	s := open(t, t.TempDir())
	large := node.Batch{Wall: time.Unix(0, 0), Blob: make([]byte, 10<<20)}
	for i := range 7 {
		anew, err := s.KeepBatches([]node.Batch{large})
		if err != nil || anew != (i == 6) {
			t.Fatalf("after %d MiB: %v %v", 10*(i+1), anew, err)
		}
	}
	if err := s.KeepAllBatches(slices.Values([]node.Batch{large})); err != nil {
		t.Fatal(err)
	}
	if anew, err := s.KeepBatches([]node.Batch{large}); anew || err != nil {
		t.Error(anew, err)
	}
}

// TestAnewFails: if not all can be written, what was there still is.
func TestAnewFails(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	keep(t, s, batch(1))
	name := filepath.Join(dir, "groups-0000000000000002.journal.new")
	if err := os.Mkdir(name, 0o700); err != nil { // in the way
		t.Fatal(err)
	}
	err := s.KeepAllBatches(iter.Seq[node.Batch](func(yield func(node.Batch) bool) { yield(batch(2)) }))
	if !errors.Is(err, store.ErrStore) {
		t.Errorf("%v, want ErrStore", err)
	}
	keep(t, s, batch(3))
	wantBatches(t, batchesOf(t, s), batch(1), batch(3))
}

// TestCutOff imitates a loss of power by cutting files at a random byte, 100 times each: what is whole is there, or the file was moved
// aside, with a message; and the store goes on.
func TestCutOff(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	whole := t.TempDir()
	s, _ := opened(t, whole)
	var all []node.Batch
	ends := []int64{16}
	for i := range 50 {
		all = append(all, batch(i))
		keep(t, s, batch(i))
		info, err := os.Stat(only(t, whole, "groups-*"))
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, info.Size())
		if err := s.KeepEdition(edition(uint64(i+1), "aa")); err != nil {
			t.Fatal(err)
		}
		if err := s.KeepEntries([]table.Entry{{ID: bucket.ID{Hi: uint64(i)}, Number: 1, Text: strings.Repeat("x", 100)}}); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	text := func(pattern string) []byte {
		b, err := os.ReadFile(only(t, whole, pattern))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	journal, database := text("groups-*"), text("drossel.db")
	aside := 0
	for i := range 100 {
		dir := t.TempDir()
		write := func(name string, b []byte) {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		at := r.IntN(len(journal) + 1)
		write("groups-0000000000000001.journal", journal[:at])
		cut := r.IntN(len(database) + 1)
		write("drossel.db", database[:cut])
		s, said := opened(t, dir)
		n := 0
		for n < len(all) && ends[n+1] <= int64(at) {
			n++
		}
		if n == 0 {
			all := batchesOf(t, s)
			wantBatches(t, all, []node.Batch(nil)...)
		} else {
			wantBatches(t, batchesOf(t, s), all[:n]...)
		}
		if whole := slices.Contains(ends, int64(at)); whole == strings.Contains(said, "did not reach the disk whole") {
			t.Fatalf("cut %d at byte %d: %q", i, at, said)
		}
		keep(t, s, batch(1))
		editions, err := s.Editions()
		if err != nil {
			t.Fatal(err)
		}
		if moved := strings.Contains(said, "database can't be read"); moved != (len(editions) == 0) {
			t.Fatalf("cut %d at byte %d: %d editions and %q", i, cut, len(editions), said)
		} else if moved {
			aside++
			only(t, dir, "drossel.db.aside-*")
		}
		if err := s.KeepEdition(edition(99, "bb")); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s, said = opened(t, dir)
		if said != "" || len(batchesOf(t, s)) != n+1 {
			t.Fatalf("opened again: %d batches, want %d, and %q", len(batchesOf(t, s)), n+1, said)
		}
		s.Close()
	}
	t.Logf("the database was moved aside %d times of 100", aside)
}

// TestDamage: whatever a file is, the store opens, says what it did, and keeps what can be read.
func TestDamage(t *testing.T) {
	whole := t.TempDir()
	s, _ := opened(t, whole)
	keep(t, s, batch(20))
	keep(t, s, batch(21))
	keep(t, s, batch(22))
	if err := s.KeepEdition(edition(1, "aa")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	journal, err := os.ReadFile(only(t, whole, "groups-*"))
	if err != nil {
		t.Fatal(err)
	}
	database, err := os.ReadFile(filepath.Join(whole, "drossel.db"))
	if err != nil {
		t.Fatal(err)
	}
	with := func(b []byte, at int, value byte) []byte {
		b = slices.Clone(b)
		b[at] = value
		return b
	}
	for _, tt := range []struct {
		id                string
		journal, database []byte
		batches           int
		editions          int
		says              []string
	}{
		{"nothing is wrong", journal, database, 3, 1, nil},
		{"a byte in the middle", with(journal, 35, 0xff), database, 2, 1, []string{"moved aside", "wrong checksum", "batches_kept=2"}},
		{"a byte of a length", with(journal, 19, 0xff), database, 0, 1, []string{"moved aside", "impossible length"}},
		{"foreign", []byte("#!/bin/sh\necho hello, this is no journal\n"), []byte(strings.Repeat("hello, this is no database\n", 1000)), 0, 0,
			[]string{"no journal of groups", "no database of this program"}},
		{"of a newer version", with(journal, 15, 2), database, 0, 1, []string{"version 2, and this program reads 1"}},
		{"zeros behind", append(slices.Clone(journal), make([]byte, 500)...), database, 3, 1, []string{"did not reach the disk whole"}},
		{"empty", nil, nil, 0, 0, []string{"did not reach the disk whole"}},
		{"a page of the database", journal, damagedPages(database), 3, 0, []string{"database can't be read"}},
	} {
		t.Run(tt.id, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string][]byte{"groups-0000000000000007.journal": tt.journal, "drossel.db": tt.database} {
				if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, said := opened(t, dir)
			defer s.Close()
			editions, err := s.Editions()
			if n := len(batchesOf(t, s)); n != tt.batches || len(editions) != tt.editions || err != nil {
				t.Errorf("%d batches and %d editions, %v; want %d and %d", n, len(editions), err, tt.batches, tt.editions)
			}
			for _, part := range tt.says {
				if !strings.Contains(said, part) {
					t.Errorf("%s\ndoes not say %q", said, part)
				}
			}
			if len(tt.says) == 0 && said != "" {
				t.Error(said)
			}
			keep(t, s, batch(1))
		})
	}
}

// damagedPages overwrites all pages but for the first two.
func damagedPages(b []byte) []byte {
	b = slices.Clone(b)
	size := os.Getpagesize()
	for i := 2 * size; i < len(b); i++ {
		b[i] ^= 0x5a
	}
	return b
}

// TestNameAndRoster are kept.
func TestNameAndRoster(t *testing.T) {
	dir := t.TempDir()
	s, _ := opened(t, dir)
	if name, err := s.Name(); name != "" || err != nil {
		t.Error(name, err)
	}
	if err := errors.Join(s.KeepName("n1"), s.KeepRoster([]string{"n1", "n2"}), s.KeepRoster([]string{"n1", "n3"})); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s, _ = opened(t, dir)
	defer s.Close()
	name, err := s.Name()
	roster, failed := s.Roster()
	if name != "n1" || fmt.Sprint(roster) != "[n1 n3]" || err != nil || failed != nil {
		t.Error(name, roster, err, failed)
	}
}
