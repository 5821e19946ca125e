package store

import (
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"
)

var (
	nameKey   = []byte("name")
	rosterKey = []byte("members")
)

// Name returns the name that the node of this directory has; "" if it was never said.
func (s *Store) Name() (name string, err error) {
	err = s.get(nameKey, &name)
	return name, err
}

// KeepName keeps that name.
func (s *Store) KeepName(name string) error { return s.put(nameKey, name) }

// Roster returns the members of the cluster that were kept last, this node among them.
func (s *Store) Roster() (names []string, err error) {
	err = s.get(rosterKey, &names)
	return names, err
}

// KeepRoster keeps the members of the cluster.
func (s *Store) KeepRoster(names []string) error { return s.put(rosterKey, names) }

func (s *Store) get(key []byte, into any) error {
	err := s.db.View(func(tx *bbolt.Tx) error {
		if text := tx.Bucket(own).Get(key); text != nil {
			return json.Unmarshal(text, into)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: read %s in %s: %w", ErrStore, key, s.name, err)
	}
	return nil
}

func (s *Store) put(key []byte, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(own).Put(key, text) })
	}
	if err != nil {
		return fmt.Errorf("%w: keep %s in %s: %w", ErrStore, key, s.name, err)
	}
	return nil
}
