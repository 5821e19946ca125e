package store

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
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

// Groups are in journals of their own, beside the database: what was written in a second is one append, and a journal that was cut off
// anywhere is good up to there. A journal is
//
//	"drossel groups\n", and the version, 1, as a byte
//	and for each batch
//		how many bytes it has, and their CRC-32C, 4 bytes each
//		the partition, as a uvarint; its wall time in Unix nanoseconds, as a varint; the blob
//
// The numbers of names rise; what is in a later one is newer. When all have grown to several times of what the newest began with, the node
// writes all there is into a new one, and the others are removed once that is on disk.

const (
	journalMagic   = "drossel groups\n"
	journalVersion = 1
	journalHead    = len(journalMagic) + 1
	batchHead      = 8
	// maxBatch bounds a batch: a length beyond it is damage, and not a batch.
	maxBatch = 64 << 20
	// A journal is written anew when it has growth times the bytes that it began with, and leastAnew at least.
	growth    = 4
	leastAnew = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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

// writeFile writes a file that is there whole or not at all.
func writeFile(name string, write func(io.Writer) error) error {
	temporary := name + ".new"
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 1<<20)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return syncDir(filepath.Dir(name))
}

// syncDir has the names of files on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// oddError says what is odd about a journal. torn: it ends within a batch.
type oddError struct {
	text string
	torn bool
}

func (e *oddError) Error() string { return e.text }

// readJournal calls do with the batches of a journal that are whole, and says how many bytes of it have been read. The error is an
// *oddError, that of the disk, or that of do.
func readJournal(name string, do func(node.Batch) error) (good, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = info.Size()
	r := bufio.NewReaderSize(f, 1<<20)
	head := make([]byte, journalHead)
	switch n, err := io.ReadFull(r, head); {
	case err != nil && strings.HasPrefix(journalMagic, string(head[:min(n, len(journalMagic))])):
		return 0, size, &oddError{"it ends within its head", true}
	case err != nil || string(head[:len(journalMagic)]) != journalMagic:
		return 0, size, &oddError{"it is no journal of groups", false}
	case head[len(journalMagic)] != journalVersion:
		return 0, size, &oddError{fmt.Sprintf("it has version %d, and this program reads %d: use the program that has written it", head[len(journalMagic)],
			journalVersion), false}
	}
	good = int64(journalHead)
	var body []byte
	var odd error // but not torn
	for good < size {
		var h [batchHead]byte
		if size-good < batchHead {
			return good, size, cmp.Or(odd, error(&oddError{"it ends within a batch", true}))
		}
		if _, err := io.ReadFull(r, h[:]); err != nil {
			return good, size, err
		}
		n := int64(binary.LittleEndian.Uint32(h[:]))
		switch {
		case n == 0: // a file that was made longer, and never written, ends in zeros
			return good, size, cmp.Or(odd, error(&oddError{"it ends in zeros", true}))
		case n > maxBatch:
			return good, size, &oddError{fmt.Sprintf("the batch at byte %d has an impossible length", good), false}
		case n > size-good-batchHead:
			return good, size, cmp.Or(odd, error(&oddError{"it ends within a batch", true}))
		}
		body = slices.Grow(body[:0], int(n))[:n]
		if _, err := io.ReadFull(r, body); err != nil {
			return good, size, err
		}
		end := good + batchHead + n
		if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(h[4:]) {
			if end == size { // the pages of the last write may have come in any order
				return good, size, cmp.Or(odd, error(&oddError{"its last batch has a wrong checksum", true}))
			}
			odd = &oddError{fmt.Sprintf("the batch at byte %d has a wrong checksum", good), false}
			good = end
			continue
		}
		b, ok := readBatch(body)
		if !ok {
			odd = &oddError{fmt.Sprintf("the batch at byte %d can't be read", good), false}
		} else if err := do(b); err != nil {
			return good, size, err
		}
		good = end
	}
	return good, size, odd
}

func readBatch(body []byte) (b node.Batch, ok bool) {
	part, n := binary.Uvarint(body)
	if n <= 0 || part > 1<<31 {
		return b, false
	}
	body = body[n:]
	wall, n := binary.Varint(body)
	if n <= 0 {
		return b, false
	}
	return node.Batch{Partition: int(part), Wall: time.Unix(0, wall), Blob: slices.Clone(body[n:])}, true
}

func appendBatch(to []byte, b *node.Batch) []byte {
	at := len(to)
	to = append(to, make([]byte, batchHead)...)
	to = binary.AppendUvarint(to, uint64(b.Partition))
	to = binary.AppendVarint(to, b.Wall.UnixNano())
	to = append(to, b.Blob...)
	body := to[at+batchHead:]
	binary.LittleEndian.PutUint32(to[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(to[at+4:], crc32.Checksum(body, castagnoli))
	return to
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
