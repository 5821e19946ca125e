package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/drossel-dev/drossel/node"
)

// ErrStore is wrapped by every error of a store.
var ErrStore = errors.New("data directory")

// Store is a node.Store and a node.GroupStore in a directory. Safe for concurrent use.
type Store struct {
	db   *bbolt.DB
	dir  string
	name string
	log  *slog.Logger

	writing sync.Mutex // guards:
	newest  uint64     // journal
	journal journal
}

var (
	editions = []byte("editions")
	entries  = []byte("limits") // of the limits store, by id
	own      = []byte("node")   // what the node knows of itself
)

const (
	fileName = "drossel.db"
	dirMode  = 0o700
	fileMode = 0o600
)

// Open opens the store in a directory, and makes both if they are missing. A file in it that is damaged, foreign or of a newer version is
// moved aside, and log says so at level Error: what it had is taken from other nodes then, or is lost. A nil log drops that. The error wraps
// ErrStore.
func Open(dir string, log *slog.Logger) (*Store, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	s := &Store{dir: dir, name: filepath.Join(dir, fileName), log: log}
	if err := s.openDatabase(); err != nil {
		return nil, err
	}
	if err := s.mend(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, errors.Join(err, s.db.Close()))
	}
	return s, nil
}

// Close closes the files.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.db.Close()
	if f := s.journal.file; f != nil {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Editions returns those that are kept, the oldest first. The error wraps ErrStore.
func (s *Store) Editions() (all []node.Edition, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(editions).ForEach(func(k, v []byte) error {
			var e node.Edition
			if err := json.Unmarshal(v, &e); err != nil {
				return fmt.Errorf("edition %x: %w", k, err)
			}
			all = append(all, e)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrStore, s.name, err)
	}
	return all, nil
}

// KeepEdition keeps one more, and forgets the oldest of more than node.MaxEditions. The error wraps ErrStore.
func (s *Store) KeepEdition(e node.Edition) error {
	text, err := json.Marshal(e)
	if err == nil {
		err = s.db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket(editions)
			if err := b.Put(keyOf(&e), text); err != nil {
				return err
			}
			return trim(b)
		})
	}
	if err != nil {
		return fmt.Errorf("%w: keep edition %v in %s: %w", ErrStore, &e, s.name, err)
	}
	return nil
}

// keyOf sorts editions as they win over each other.
func keyOf(e *node.Edition) []byte {
	return append(binary.BigEndian.AppendUint64(nil, e.Number), e.Digest...)
}

// trim forgets the oldest of too many.
func trim(b *bbolt.Bucket) error {
	var keys [][]byte
	err := b.ForEach(func(k, _ []byte) error {
		keys = append(keys, k)
		return nil
	})
	for i := 0; i < len(keys)-node.MaxEditions && err == nil; i++ {
		err = b.Delete(keys[i])
	}
	return err
}
