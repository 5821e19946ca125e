package transport

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Saved is a batch of groups of a partition, as a node has it on disk.
type Saved struct {
	Partition int
	// Ago is how long ago they were like that, at least 0.
	Ago time.Duration
	// Blob has the groups.
	Blob []byte
}

// maxPartition bounds what is taken for a partition.
const maxPartition = 1 << 24

// AppendParts appends numbers of partitions to b.
func AppendParts(b []byte, parts []int) []byte {
	for _, part := range parts {
		b = binary.AppendUvarint(b, uint64(part))
	}
	return b
}

// DecodeParts reads what AppendParts has written. The error wraps ErrFrame.
func DecodeParts(b []byte) (parts []int, err error) {
	for len(b) > 0 {
		part, n := binary.Uvarint(b)
		if n <= 0 || part > maxPartition {
			return nil, fmt.Errorf("%w: the number of a partition", ErrFrame)
		}
		parts, b = append(parts, int(part)), b[n:]
	}
	return parts, nil
}

// AppendSaved appends batches to b.
func AppendSaved(b []byte, all []Saved) []byte {
	for i := range all {
		s := &all[i]
		b = binary.AppendUvarint(b, uint64(s.Partition))
		b = binary.AppendUvarint(b, uint64(s.Ago))
		b = binary.AppendUvarint(b, uint64(len(s.Blob)))
		b = append(b, s.Blob...)
	}
	return b
}

// DecodeSaved reads what AppendSaved has written. The blobs share b. The error wraps ErrFrame.
func DecodeSaved(b []byte) (all []Saved, err error) {
	number := func(most uint64) (v uint64) {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > most {
			err = fmt.Errorf("%w: a batch of groups", ErrFrame)
			return 0
		}
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		s := Saved{Partition: int(number(maxPartition))}
		if err == nil {
			s.Ago = time.Duration(number(1<<63 - 1))
		}
		var size uint64
		if err == nil {
			size = number(uint64(len(b)))
		}
		if err == nil && size > uint64(len(b)) {
			err = fmt.Errorf("%w: a batch of groups with more bytes than there are", ErrFrame)
		}
		if err != nil {
			return nil, err
		}
		s.Blob, b = b[:size:size], b[size:]
		all = append(all, s)
	}
	return all, nil
}
