package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/node/store"
)

// filled returns a directory with something of everything.
func filled(t *testing.T, batches ...int) string {
	t.Helper()
	dir := t.TempDir()
	s, _ := opened(t, dir)
	defer s.Close()
	err := errors.Join(s.KeepName("n1"), s.KeepRoster([]string{"n1", "n2"}), s.KeepEdition(edition(uint64(len(batches)), "aa")),
		s.KeepEntries([]table.Entry{{ID: bucket.ID{Hi: 7, Lo: 9}, Number: uint64(batches[0] + 1), Text: "text"}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range batches {
		keep(t, s, batch(i))
	}
	return dir
}

func exported(t *testing.T, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := store.Export(dir, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestExportImport: what one directory has comes into another, which may have something already.
func TestExportImport(t *testing.T) {
	one, two := exported(t, filled(t, 1, 2, 3)), exported(t, filled(t, 8, 9))
	dir := t.TempDir()
	for _, file := range [][]byte{one, two, one} {
		if _, err := store.Import(bytes.NewReader(file), dir, nil); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := store.Verify(dir)
	if err != nil || sum.Batches != 8 || sum.Editions != 2 || sum.Limits != 1 || sum.Name != "" || len(sum.Members) > 0 || len(sum.Damage) > 0 {
		t.Errorf("%+v %v", sum, err)
	}
	s, _ := opened(t, dir)
	defer s.Close()
	wantBatches(t, batchesOf(t, s), batch(1), batch(2), batch(3), batch(8), batch(9), batch(1), batch(2), batch(3))
	all, err := s.Entries(bucket.ID{}, 9)
	if err != nil || len(all) != 1 || all[0].Number != 9 {
		t.Errorf("%+v %v, want the newer of two entries", all, err)
	}
	if _, err := store.Verify(dir); !errors.Is(err, store.ErrStore) || !strings.Contains(err.Error(), "a node has it open") {
		t.Errorf("%v, want that it is open", err)
	}
}

// TestVerify says what is wrong, and changes nothing.
func TestVerify(t *testing.T) {
	dir := filled(t, 20, 21, 22)
	sum, err := store.Verify(dir)
	if err != nil || sum.Name != "n1" || strings.Join(sum.Members, " ") != "n1 n2" || sum.Batches != 3 || sum.Partitions != 3 ||
		!sum.Newest.Equal(batch(22).Wall) || len(sum.Damage) > 0 {
		t.Errorf("%+v %v", sum, err)
	}
	name := only(t, dir, "groups-*")
	journal, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	journal[35] ^= 1
	if err := errors.Join(os.WriteFile(name, journal, 0o600), os.Truncate(filepath.Join(dir, "drossel.db"), 9000)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		sum, err = store.Verify(dir)
		if err != nil || sum.Batches != 2 || len(sum.Damage) != 2 || !strings.Contains(sum.Damage[0], "wrong checksum") || !strings.Contains(sum.Damage[1], "cut off") {
			t.Errorf("%+v %v", sum, err)
		}
	}
	if _, err := store.Export(dir, new(bytes.Buffer)); !errors.Is(err, store.ErrStore) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%v, want that it is damaged", err)
	}
	if _, err := store.Verify(t.TempDir()); !errors.Is(err, store.ErrStore) {
		t.Errorf("%v, want that there is nothing", err)
	}
	if _, err := store.Verify(filepath.Join(dir, "none")); !errors.Is(err, store.ErrStore) {
		t.Errorf("%v, want that there is no such directory", err)
	}
}

// TestImportRefuses what is no exported state, and is cut off.
func TestImportRefuses(t *testing.T) {
	whole := exported(t, filled(t, 1, 2))
	for name, file := range map[string][]byte{
		"nothing": nil, "text": []byte("hello"), "half": whole[:len(whole)/2], "nearly all": whole[:len(whole)-9],
	} {
		if _, err := store.Import(bytes.NewReader(file), t.TempDir(), nil); !errors.Is(err, store.ErrStore) {
			t.Errorf("%s: %v, want ErrStore", name, err)
		}
	}
}
