package store

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/node"
)

// Import adds what Export has written to a directory that no node has open, and makes that if it is missing: of what is in both the newer
// counts, in any order of several files. The name of the node and its members are not taken over. Groups and limits of keys mean
// the same only in a cluster with the same secret and number of partitions. The error wraps ErrStore.
func Import(r io.Reader, dir string, log *slog.Logger) (sum Summary, err error) {
	wrong := func(err error) error { return fmt.Errorf("%w: import into %s: %w", ErrStore, dir, err) }
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return sum, wrong(fmt.Errorf("this is no exported state: %w", err))
	}
	from := tar.NewReader(unzipped)
	first, err := from.Next()
	var h head
	if err != nil || first.Name != stateHead || json.NewDecoder(from).Decode(&h) != nil || h.Drossel < 1 {
		return sum, wrong(errors.New("this is no exported state"))
	}
	if h.Drossel > stateVersion {
		return sum, wrong(fmt.Errorf("it has version %d, and this program reads %d: use the program that has written it", h.Drossel, stateVersion))
	}
	s, err := Open(dir, log)
	if err != nil {
		return sum, err
	}
	done := map[string]bool{}
	for {
		var part *tar.Header
		if part, err = from.Next(); err != nil {
			break
		}
		switch done[part.Name] = true; part.Name {
		case stateEditions:
			err = s.importEditions(from)
		case stateLimits:
			err = s.importEntries(from)
		case stateGroups:
			err = s.importJournal(from)
		}
		if err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		if _, err = io.Copy(io.Discard, unzipped); err == nil && !done[stateGroups] { // to the checksum
			err = io.ErrUnexpectedEOF
		}
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return h.Summary, wrong(err)
	}
	return h.Summary, nil
}

func (s *Store) importEditions(r io.Reader) error {
	for from := json.NewDecoder(r); from.More(); {
		var e node.Edition
		if err := from.Decode(&e); err != nil {
			return err
		}
		if err := s.KeepEdition(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) importEntries(r io.Reader) error {
	var some []table.Entry
	for from := json.NewDecoder(r); from.More(); {
		var e entry
		if err := from.Decode(&e); err != nil {
			return err
		}
		if len(e.Key) != 16 {
			return fmt.Errorf("a key of %d bytes, want 16", len(e.Key))
		}
		some = append(some, table.Entry{ID: idOf(e.Key), Number: e.Number, Text: e.Text})
		if len(some) == 4096 {
			if err := s.KeepEntries(some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	return s.KeepEntries(some)
}

func (s *Store) importJournal(r io.Reader) error {
	f, err := os.CreateTemp("", "drossel-state-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := io.Copy(f, r); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	var some []node.Batch
	size := 0
	keep := func() error {
		_, err := s.KeepBatches(some)
		some, size = nil, 0
		return err
	}
	_, _, err = readJournal(f.Name(), func(b node.Batch) error {
		if some, size = append(some, b), size+len(b.Blob); size < 4<<20 {
			return nil
		}
		return keep()
	})
	if err != nil || len(some) == 0 {
		return err
	}
	return keep()
}
