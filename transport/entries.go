package transport

import (
	"encoding/binary"

	"github.com/drossel-dev/drossel/bucket"
)

// Entry is an entry of the limits store on its way: what a key has in place of the limits of its policy.
type Entry struct {
	ID bucket.ID
	// Number orders the entries of a key. In SetEntries 0 is an order to be numbered by the owner. In GetEntries, and of a key that has
	// none in the reply, there is neither number nor text.
	Number uint64
	// Text is at most MaxEntryBytes; "" if the entry was removed.
	Text string
}

// MaxEntryBytes bounds the text of an entry, as in bucket/table.
const MaxEntryBytes = 2 << 10

// FitEntries says how many of the first entries fit into a call: at least one, unless there are none.
func FitEntries(entries []Entry) (n int) {
	const head = 16 + binary.MaxVarintLen64 + binary.MaxVarintLen16
	for size := 0; n < len(entries); n++ {
		if size += head + len(entries[n].Text); size > MaxCallBody {
			break
		}
	}
	return n
}

// AppendEntries appends entries to the body of a call or reply.
func AppendEntries(b []byte, entries []Entry) []byte {
	for i := range entries {
		e := &entries[i]
		b = binary.AppendUvarint(appendID(b, e.ID), e.Number)
		b = appendBytes(b, e.Text)
	}
	return b
}

// DecodeEntries reads all entries of a body. The error wraps ErrFrame.
func DecodeEntries(body []byte) (entries []Entry, err error) {
	r := reader{b: body}
	for len(r.b) > 0 && r.err == nil {
		entries = append(entries, Entry{r.id(), r.uvarint(), string(r.bytes(MaxEntryBytes))})
	}
	return entries, r.end()
}

// EntryResult is what has become of an entry at the node that it was sent to.
type EntryResult struct {
	// Number is that of the entry that counts, now or since before; 0 if Status is not EntrySet.
	Number uint64
	Status EntryStatus
	// Kept says that it will outlive the node, and Copied that another node has a copy.
	Kept, Copied bool
}

// EntryStatus says whether a node has taken an entry.
type EntryStatus uint8

const (
	// EntrySet: it counts, or a newer one does.
	EntrySet EntryStatus = iota
	// EntryNotOwner: the node does not decide for the key.
	EntryNotOwner
	// EntryFull: there is no memory for one more.
	EntryFull
	entryStatuses
)

const (
	entryKept   byte = 1 << 4
	entryCopied byte = 1 << 5
)

// AppendEntryResults appends results to the body of a reply.
func AppendEntryResults(b []byte, results []EntryResult) []byte {
	for _, r := range results {
		flags := byte(r.Status)
		if r.Kept {
			flags |= entryKept
		}
		if r.Copied {
			flags |= entryCopied
		}
		b = binary.AppendUvarint(append(b, flags), r.Number)
	}
	return b
}

// DecodeEntryResults reads all results of a body. The error wraps ErrFrame.
func DecodeEntryResults(body []byte) (results []EntryResult, err error) {
	r := reader{b: body}
	for len(r.b) > 0 && r.err == nil {
		flags := r.byte()
		e := EntryResult{
			Number: r.uvarint(), Status: EntryStatus(flags &^ (entryKept | entryCopied)),
			Kept: flags&entryKept != 0, Copied: flags&entryCopied != 0,
		}
		if e.Status >= entryStatuses {
			r.fail("the result of an entry is out of range")
		}
		results = append(results, e)
	}
	return results, r.end()
}
