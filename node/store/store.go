package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/drossel-dev/drossel/node"
)

// ErrStore is wrapped by every error of a store.
var ErrStore = errors.New("data directory")

// Store is a node.Store in a file. Safe for concurrent use.
type Store struct {
	db   *bbolt.DB
	name string
}

var (
	editions = []byte("editions")
	entries  = []byte("limits") // of the limits store, by id
)

const (
	fileName = "drossel.db"
	// lockPatience is how long another process that has the file open is waited for: the node before this one may still be ending.
	lockPatience = 5 * time.Second
	dirMode      = 0o700
	fileMode     = 0o600
)

// Open opens the store in a directory, and makes both if they are missing. The error wraps ErrStore.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	s := &Store{name: filepath.Join(dir, fileName)}
	var err error
	s.db, err = bbolt.Open(s.name, fileMode, &bbolt.Options{Timeout: lockPatience})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%w: another process has %s open: give each node a directory of its own", ErrStore, s.name)
	case err != nil:
		return nil, fmt.Errorf("%w: open %s: %w (if it is damaged, move it away: the node then takes the policies from the others)",
			ErrStore, s.name, err)
	}
	err = s.db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(editions)
		if err == nil {
			_, err = tx.CreateBucketIfNotExists(entries)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrStore, s.name, errors.Join(err, s.db.Close()))
	}
	return s, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

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
