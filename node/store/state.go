package store

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
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
