package store

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/node"
)

// What is in an exported file, a tar with gzip, in this order.
const (
	stateHead     = "state.json"
	stateEditions = "editions.json" // one to a line
	stateLimits   = "limits.json"   // one to a line
	stateGroups   = "groups.journal"
	stateVersion  = 1
)

// head begins an exported file.
type head struct {
	Drossel  int       `json:"drossel_state"` // the version
	Exported time.Time `json:"exported"`
	Summary
}

// entry is a table.Entry as it is exported.
type entry struct {
	Key    []byte `json:"key"` // the id: a hash of the key, if the cluster has a secret with that
	Number uint64 `json:"number"`
	Text   string `json:"text"`
}

// Export writes all that is in a directory that no node has open, and is not damaged, for Import. The error wraps ErrStore.
func Export(dir string, w io.Writer) (sum Summary, err error) {
	s, sum, err := look(dir)
	if err != nil {
		return sum, err
	}
	if s != nil {
		defer s.db.Close()
	}
	if len(sum.Damage) > 0 {
		return sum, fmt.Errorf("%w: %s is damaged, so that not all could be exported: start a node with it once, which saves what can be read, or copy it",
			ErrStore, dir)
	}
	zipped := gzip.NewWriter(w)
	out := tar.NewWriter(zipped)
	part := func(name string, write func(io.Writer) error) error {
		f, err := os.CreateTemp("", "drossel-state-") // a tar says first how long each file is
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		b := bufio.NewWriter(f)
		if err := errors.Join(write(b), b.Flush()); err != nil {
			return err
		}
		size, err := f.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err == nil {
			err = out.WriteHeader(&tar.Header{Name: name, Size: size, Mode: fileMode, ModTime: time.Now(), Format: tar.FormatPAX})
		}
		if err == nil {
			_, err = io.Copy(out, f)
		}
		return err
	}
	err = part(stateHead, func(w io.Writer) error { return json.NewEncoder(w).Encode(head{stateVersion, time.Now().UTC(), sum}) })
	if err == nil && s != nil {
		err = errors.Join(part(stateEditions, s.exportEditions), part(stateLimits, s.exportEntries))
	}
	if err == nil {
		err = part(stateGroups, func(w io.Writer) error { return exportJournals(dir, w) })
	}
	if err = errors.Join(err, out.Close(), zipped.Close()); err != nil {
		return sum, fmt.Errorf("%w: export %s: %w", ErrStore, dir, err)
	}
	return sum, nil
}

func (s *Store) exportEditions(w io.Writer) error {
	all, err := s.Editions()
	to := json.NewEncoder(w)
	for i := range all {
		err = errors.Join(err, to.Encode(&all[i]))
	}
	return err
}

func (s *Store) exportEntries(w io.Writer) error {
	to := json.NewEncoder(w)
	for after := (bucket.ID{}); ; {
		some, err := s.Entries(after, 4096)
		if err != nil || len(some) == 0 {
			return err
		}
		for _, e := range some {
			id := e.ID.Bytes()
			if err := to.Encode(entry{id[:], e.Number, e.Text}); err != nil {
				return err
			}
		}
		after = some[len(some)-1].ID
	}
}

func exportJournals(dir string, w io.Writer) error {
	if _, err := w.Write(append([]byte(journalMagic), journalVersion)); err != nil {
		return err
	}
	s := Store{dir: dir}
	return s.Batches(func(b node.Batch) error {
		_, err := w.Write(appendBatch(nil, &b))
		return err
	})
}
