package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockPatience is how long another process that has the file open is waited for: the node before this one may still be ending.
const lockPatience = 5 * time.Second

// openDatabase opens the database, or a new one if there is none that can be read.
func (s *Store) openDatabase() error {
	why, err := s.tryDatabase()
	if err == nil && why != "" {
		aside := fmt.Sprintf("%s.aside-%s", s.name, time.Now().UTC().Format("20060102T150405.000"))
		if err = os.Rename(s.name, aside); err == nil {
			s.log.Error("the database can't be read, and was moved aside: policies and limits of single keys are taken from the other nodes, and what "+
				"none of them has is lost, unless you put it right and back", "file", s.name, "why", why, "aside", aside)
			why, err = s.tryDatabase()
		}
	}
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w: another process has %s open: give each node a directory of its own", ErrStore, s.name)
	case err != nil:
		return fmt.Errorf("%w: open %s: %w", ErrStore, s.name, err)
	case why != "":
		return fmt.Errorf("%w: a new %s can't be read: %s", ErrStore, s.name, why)
	}
	return nil
}

// tryDatabase opens the database. why says what is wrong with a file that can't be read; the error is about the disk, or about who else has
// it open.
func (s *Store) tryDatabase() (why string, err error) {
	if why, err := wrongDatabase(s.name); why != "" || err != nil {
		return why, err
	}
	why = guarded(func() {
		if s.db, err = bbolt.Open(s.name, fileMode, &bbolt.Options{Timeout: lockPatience}); err == nil {
			err = s.readAll()
		}
	})
	switch {
	case why != "": // what is open stays so, for it may be locked
		return why, nil
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrVersionMismatch), errors.Is(err, bolterrors.ErrChecksum):
		return err.Error(), nil
	case err != nil:
		return "", err
	}
	if s.hasAll() {
		return "", nil
	}
	err = s.db.Update(func(tx *bbolt.Tx) (err error) {
		for _, name := range parts {
			if _, failed := tx.CreateBucketIfNotExists(name); failed != nil {
				err = errors.Join(err, failed)
			}
		}
		return err
	})
	if err != nil {
		return "", errors.Join(err, s.db.Close())
	}
	return "", nil
}

// parts are those of the database.
var parts = [][]byte{editions, entries, own}

// hasAll says that nothing need be written: on a full disk nothing can be.
func (s *Store) hasAll() (has bool) {
	_ = s.db.View(func(tx *bbolt.Tx) error { // it can be read, as was just seen
		has = !slices.ContainsFunc(parts, func(name []byte) bool { return tx.Bucket(name) == nil })
		return nil
	})
	return has
}

// guarded does something with a database that may be damaged, and says how it failed if it did by a panic, or by memory that is not there:
// that is how what reads pages ends that are none.
func guarded(do func()) (why string) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprint(p)
		}
	}()
	do()
	return ""
}

// readAll goes through everything there is.
func (s *Store) readAll() error {
	return s.db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			sum := crc32.NewIEEE()
			return b.ForEach(func(k, v []byte) error {
				sum.Write(k)
				sum.Write(v)
				return nil
			})
		})
	})
}

// The two pages at the beginning of the database, of which the newer one that is whole counts, as go.etcd.io/bbolt writes them.
const (
	pageHead     = 16
	metaBytes    = 64
	metaMagic    = 0xED0CDAED
	metaVersion  = 2
	mostPageSize = 64 << 10
)

// wrongDatabase says why a file is no database that is there as a whole. To open one that was cut off would end the process, for its pages
// are mapped into memory.
func wrongDatabase(name string) (why string, err error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", fmt.Errorf("it is a directory")
	case info.Size() == 0: // one that was never begun
		return "", nil
	}
	head := make([]byte, min(info.Size(), 2*mostPageSize))
	if _, err := f.ReadAt(head, 0); err != nil {
		return "", err
	}
	why = "it is no database of this program, or its beginning is damaged"
	newest := uint64(0)
	for _, at := range metas(head) {
		m := head[at+pageHead:][:metaBytes]
		sum := fnv.New64a()
		sum.Write(m[:metaBytes-8])
		order := binary.NativeEndian
		if order.Uint32(m) != metaMagic || order.Uint64(m[metaBytes-8:]) != sum.Sum64() {
			continue
		}
		if v := order.Uint32(m[4:]); v != metaVersion {
			return fmt.Sprintf("it has version %d, and this program reads %d", v, metaVersion), nil
		}
		if id := order.Uint64(m[48:]); newest == 0 || id > newest {
			newest, why = id, ""
			if pages, size := order.Uint64(m[40:]), uint64(order.Uint32(m[8:])); pages*size > uint64(info.Size()) {
				why = fmt.Sprintf("it was cut off: it has %d bytes of %d", info.Size(), pages*size)
			}
		}
	}
	return why, nil
}

// metas returns where pages begin that may be those of the head: the second is one page further on, whatever size that has.
func metas(head []byte) (at []int) {
	for _, offset := range []int{0, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10} {
		if len(head) >= offset+pageHead+metaBytes {
			at = append(at, offset)
		}
	}
	return at
}
