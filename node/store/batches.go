package store

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/node"
)

// A journal is written anew when it has growth times the bytes that it began with, and leastAnew at least.
const (
	growth    = 4
	leastAnew = 64 << 20
)

// journal is the one that is written to.
type journal struct {
	file  *os.File // nil before the first write
	bytes int64
	begun int64 // bytes that it began with
	older int64 // of those before it
}

func (s *Store) journalName(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("groups-%016x.journal", number))
}

// journals returns the numbers of those there are, in order.
func (s *Store) journals() (numbers []uint64, err error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, begins := strings.CutPrefix(f.Name(), "groups-")
		text, ends := strings.CutSuffix(text, ".journal")
		if !begins || !ends {
			continue
		}
		if n, err := strconv.ParseUint(text, 16, 64); err == nil && len(text) == 16 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// mend looks at all journals, before anything is read: one that is cut off is ended where it is good, and one that is damaged, foreign or of
// a newer version is moved aside.
func (s *Store) mend() error {
	numbers, err := s.journals()
	if err != nil {
		return err
	}
	for _, n := range numbers {
		name := s.journalName(n)
		good, size, err := readJournal(name, func(node.Batch) error { return nil })
		var odd *oddError
		switch {
		case err == nil:
			s.journal.older += size
		case !errors.As(err, &odd):
			return fmt.Errorf("%s: %w", name, err)
		case odd.torn:
			s.journal.older += good
			s.log.Warn("the last writes did not reach the disk whole, as after a loss of power, and are dropped", "file", name, "bytes", size-good)
			if good < int64(journalHead) {
				err = os.Remove(name)
			} else {
				err = os.Truncate(name, good)
			}
			if err != nil {
				return err
			}
		default:
			if err := s.moveAside(name, odd.text); err != nil {
				return err
			}
		}
		s.newest = n
	}
	return nil
}

// moveAside keeps a file that can't be read for whoever wants to look at it, and what is good of it in its place.
func (s *Store) moveAside(name, why string) error {
	aside := fmt.Sprintf("%s.aside-%s", name, time.Now().UTC().Format("20060102T150405.000"))
	if err := os.Rename(name, aside); err != nil {
		return err
	}
	kept, bytes := 0, int64(journalHead)
	err := writeFile(name, func(w io.Writer) error {
		if _, err := w.Write(append([]byte(journalMagic), journalVersion)); err != nil {
			return err
		}
		_, _, err := readJournal(aside, func(b node.Batch) error {
			kept++
			text := appendBatch(nil, &b)
			bytes += int64(len(text))
			_, err := w.Write(text)
			return err
		})
		if odd := (*oddError)(nil); errors.As(err, &odd) {
			return nil
		}
		return err
	})
	s.journal.older += bytes
	s.log.Error("a file can't be read, and was moved aside: what it had of groups that no other node has is lost, unless you put it right and back",
		"file", name, "why", why, "aside", aside, "batches_kept", kept)
	return err
}

// Batches calls do with all batches of groups that are kept, in the order in which they were written, until it returns an error. What it
// was called with it may keep.
func (s *Store) Batches(do func(node.Batch) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	numbers, err := s.journals()
	for _, n := range numbers {
		if err != nil {
			break
		}
		_, _, err = readJournal(s.journalName(n), do)
	}
	if err != nil {
		return fmt.Errorf("%w: read groups in %s: %w", ErrStore, s.dir, err)
	}
	return nil
}

// KeepBatches keeps batches: they are on disk when it returns. anew says that it is time for KeepAllBatches.
func (s *Store) KeepBatches(some []node.Batch) (anew bool, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.keepBatches(some); err != nil {
		return false, fmt.Errorf("%w: keep groups in %s: %w", ErrStore, s.dir, err)
	}
	j := &s.journal
	return j.bytes+j.older > max(leastAnew, growth*j.begun), nil
}

func (s *Store) keepBatches(some []node.Batch) error {
	j := &s.journal
	if j.file == nil {
		if err := s.beginJournal(nil); err != nil {
			return err
		}
	}
	var b []byte
	for i := range some {
		b = appendBatch(b, &some[i])
	}
	if n, err := j.file.Write(b); err != nil {
		if n > 0 { // what is half there must not be in the way of what comes next
			err = errors.Join(err, j.file.Truncate(j.bytes))
		}
		return err
	}
	j.bytes += int64(len(b))
	return j.file.Sync()
}

// beginJournal begins the next journal, with all that there is if that is not nil.
func (s *Store) beginJournal(all iter.Seq[node.Batch]) error {
	name := s.journalName(s.newest + 1)
	size := int64(journalHead)
	err := writeFile(name, func(w io.Writer) error {
		if _, err := w.Write(append([]byte(journalMagic), journalVersion)); err != nil || all == nil {
			return err
		}
		for batch := range all {
			b := appendBatch(nil, &batch)
			size += int64(len(b))
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, fileMode)
	if err != nil {
		return err
	}
	if s.journal.file != nil {
		err = s.journal.file.Close()
	}
	s.newest++
	s.journal = journal{f, size, size, s.journal.older + s.journal.bytes}
	return err
}

// KeepAllBatches keeps these in place of all that were kept.
func (s *Store) KeepAllBatches(all iter.Seq[node.Batch]) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	before, err := s.journals()
	if err == nil {
		err = s.beginJournal(all)
	}
	for _, n := range before {
		if err == nil {
			err = os.Remove(s.journalName(n))
		}
	}
	if err == nil {
		s.journal.older = 0
	}
	if err != nil {
		return fmt.Errorf("%w: write groups in %s anew: %w", ErrStore, s.dir, err)
	}
	return nil
}
