package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/drossel-dev/drossel/node"
)

// Summary is what there is in a directory, or in a file that Export has written.
type Summary struct {
	// Name is that of the node, and Members are those that it knew of last.
	Name    string   `json:"name,omitempty"`
	Members []string `json:"members,omitempty"`
	// Editions is how many editions of the policies there are, and Limits how many keys have limits of their own.
	Editions int `json:"editions"`
	Limits   int `json:"limits"`
	// Batches of groups there are, of so many Partitions, and the newest is as of Newest, which is zero if there are none.
	Batches    int       `json:"batches"`
	Partitions int       `json:"partitions"`
	Newest     time.Time `json:"newest,omitzero"`
	// Damage says of each file that is not whole what is wrong with it.
	Damage []string `json:"damage,omitempty"`
}

// patience is how long Verify and Export wait for who has the directory open.
const patience = 100 * time.Millisecond

// Verify says what there is in a directory that no node has open, and changes nothing. What is damaged is in the Summary. The error wraps
// ErrStore.
func Verify(dir string) (sum Summary, err error) {
	s, sum, err := look(dir)
	if s != nil {
		s.db.Close()
	}
	return sum, err
}

// look opens what there is in a directory for reading; nil if there is no database that can be read.
func look(dir string) (s *Store, sum Summary, err error) {
	s = &Store{dir: dir, name: filepath.Join(dir, fileName), log: slog.New(slog.DiscardHandler)}
	wrong := func(err error) error { return fmt.Errorf("%w: %s: %w", ErrStore, dir, err) }
	numbers, err := s.journals()
	if err != nil {
		return nil, sum, wrong(err)
	}
	parts := map[int]bool{}
	for _, n := range numbers {
		name := s.journalName(n)
		_, _, err := readJournal(name, func(b node.Batch) error {
			parts[b.Partition] = true
			if sum.Batches++; b.Wall.After(sum.Newest) {
				sum.Newest = b.Wall
			}
			return nil
		})
		if odd := (*oddError)(nil); errors.As(err, &odd) {
			sum.Damage = append(sum.Damage, name+": "+odd.text)
		} else if err != nil {
			return nil, sum, wrong(err)
		}
	}
	sum.Partitions = len(parts)
	if _, err := os.Stat(s.name); errors.Is(err, os.ErrNotExist) {
		if len(numbers) == 0 {
			return nil, sum, wrong(errors.New("there is no state of a node in it"))
		}
		return nil, sum, nil
	}
	why, err := wrongDatabase(s.name)
	if why == "" && err == nil {
		why = guarded(func() {
			if s.db, err = bbolt.Open(s.name, fileMode, &bbolt.Options{Timeout: patience, ReadOnly: true}); err == nil {
				err = s.readAll()
			}
		})
	}
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, sum, wrong(errors.New("a node has it open: end that, or use a copy of the directory"))
	case err != nil:
		return nil, sum, wrong(err)
	case why != "":
		sum.Damage = append(sum.Damage, s.name+": "+why)
		return nil, sum, nil
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		for name, into := range map[string]*int{string(editions): &sum.Editions, string(entries): &sum.Limits} {
			if b := tx.Bucket([]byte(name)); b != nil {
				*into = b.Stats().KeyN
			}
		}
		if b := tx.Bucket(own); b != nil {
			for key, into := range map[string]any{string(nameKey): &sum.Name, string(rosterKey): &sum.Members} {
				if text := b.Get([]byte(key)); text != nil {
					if err := json.Unmarshal(text, into); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, sum, wrong(errors.Join(err, s.db.Close()))
	}
	return s, sum, nil
}
