package store

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
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
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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
