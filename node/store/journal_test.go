package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/node"
)

// FuzzJournal: whatever a journal is, what is read of it is whole, reads the same from a journal of just that, and an odd one is told by that
// it is odd.
func FuzzJournal(f *testing.F) {
	whole := append([]byte(journalMagic), journalVersion)
	for i := range 3 {
		whole = appendBatch(whole, &node.Batch{Partition: i, Wall: time.Unix(0, int64(i)), Blob: bytes.Repeat([]byte{1}, i)})
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add(append(bytes.Clone(whole), make([]byte, 20)...))
	f.Fuzz(func(t *testing.T, journal []byte) {
		name := filepath.Join(t.TempDir(), "j")
		read := func(text []byte) (all []node.Batch, good int64, err error) {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
			good, _, err = readJournal(name, func(b node.Batch) error {
				all = append(all, b)
				return nil
			})
			return all, good, err
		}
		all, good, err := read(journal)
		odd := (*oddError)(nil)
		if err != nil && !errors.As(err, &odd) || good > int64(len(journal)) || err == nil && good != int64(len(journal)) {
			t.Fatalf("%d of %d bytes are good: %v", good, len(journal), err)
		}
		text := append([]byte(journalMagic), journalVersion)
		for i := range all {
			text = appendBatch(text, &all[i])
		}
		again, _, err := read(text)
		if diff := cmp.Diff(all, again); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
		if odd != nil && odd.torn && good > 0 { // what is left when it is cut there
			if _, _, err := read(journal[:good]); err != nil {
				t.Fatalf("cut at byte %d: %v", good, err)
			}
		}
	})
}
