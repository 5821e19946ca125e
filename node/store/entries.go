package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
)

// An entry's value is its number, eight bytes, and its text.
const numberBytes = 8

// Entries returns entries of the limits store that are kept, in the order of their ids: the first ones after an id, that many at most. The
// error wraps ErrStore.
func (s *Store) Entries(after bucket.ID, most int) (all []table.Entry, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(entries).Cursor()
		id := after.Bytes()
		k, v := c.Seek(id[:])
		if bytes.Equal(k, id[:]) {
			k, v = c.Next()
		}
		for ; k != nil && len(all) < most; k, v = c.Next() {
			if len(k) != len(id) || len(v) < numberBytes {
				return fmt.Errorf("limits of key %x: %d bytes", k, len(v))
			}
			all = append(all, table.Entry{
				ID:     idOf(k),
				Number: binary.BigEndian.Uint64(v), Text: string(v[numberBytes:]),
			})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrStore, s.name, err)
	}
	return all, nil
}

// KeepEntries keeps entries, each in place of a lower one of its key. The error wraps ErrStore.
func (s *Store) KeepEntries(some []table.Entry) error {
	err := s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(entries)
		for _, e := range some {
			id := e.ID.Bytes()
			if was := b.Get(id[:]); len(was) >= numberBytes && binary.BigEndian.Uint64(was) >= e.Number {
				continue
			}
			if err := b.Put(id[:], append(binary.BigEndian.AppendUint64(nil, e.Number), e.Text...)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: keep the limits of %d keys in %s: %w", ErrStore, len(some), s.name, err)
	}
	return nil
}

// ForgetEntries forgets those of these that are kept with these numbers. The error wraps ErrStore.
func (s *Store) ForgetEntries(some []table.Entry) error {
	err := s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(entries)
		for _, e := range some {
			id := e.ID.Bytes()
			if was := b.Get(id[:]); len(was) < numberBytes || binary.BigEndian.Uint64(was) != e.Number {
				continue
			}
			if err := b.Delete(id[:]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: forget the limits of %d keys in %s: %w", ErrStore, len(some), s.name, err)
	}
	return nil
}

// idOf is the id of 16 bytes.
func idOf(b []byte) bucket.ID {
	return bucket.ID{Hi: binary.BigEndian.Uint64(b), Lo: binary.BigEndian.Uint64(b[8:])}
}
