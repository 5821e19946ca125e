package transport

import (
	"encoding/binary"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// Status says whether a check was decided.
type Status uint8

const (
	// Decided: the decision is the owner's.
	Decided Status = iota
	// NotOwner: the node that was asked does not decide for the key, and does not pass the check on. By names who does, if
	// it knows.
	NotOwner
	// Full: the owner has no memory left for a new key.
	Full
	// Unreachable: the node that was asked forwarded the check and had no answer in time.
	Unreachable
	// OtherLimits: the key has limits of its own, or none any more, and the check did not come with these. Only to peers of
	// EntriesVersion.
	OtherLimits
	statuses
)

// Answer is the answer to one Check.
type Answer struct {
	// Number is that of the check.
	Number uint64
	Status Status
	// Which limit of the group spoke, 0 to 15.
	Which uint8
	// Offer says that the owner would lend: ask it. It and Deny are sent if Status is Decided.
	Offer bool
	// Decision holds if Status is Decided.
	Decision bucket.Decision
	// Deny is a deny lease; For is at most an hour, Cost 0 to bucket.MaxTokens. One for no time is not sent.
	Deny lease.Deny
	// Life is for how long from when it was first asked for a hold may be committed, at most an hour; 0 if nothing is held. It is sent
	// if Status is Decided.
	Life time.Duration
	// Entry is the text of the key's entry in the limits store, at most MaxEntryBytes, if Status is OtherLimits; "" if it has none.
	Entry string
	// By is the stable id of the node that decided if it is not the one that was asked; with NotOwner, a hint at the one
	// that would. It may come with any Status.
	By string
}

// AnswersFrame is one frame of answers. Decoding reuses its slice.
type AnswersFrame struct {
	// Dequeued counts the frames of checks taken off this stream so far: each lets the sender send another.
	Dequeued uint64
	Answers  []Answer
}

const (
	statusMask   byte = 7
	flagAllowed  byte = 1 << 3
	flagBy       byte = 1 << 4
	flagOffer    byte = 1 << 5
	flagDeny     byte = 1 << 6
	flagHeld     byte = 1 << 7
	maxNameBytes      = 255
)

// AppendAnswers appends the frame to b.
func AppendAnswers(b []byte, f *AnswersFrame) []byte {
	b = append(b, byte(typeAnswers))
	b = binary.AppendUvarint(b, f.Dequeued)
	for i := range f.Answers {
		a := &f.Answers[i]
		flags := byte(a.Status) & statusMask
		if a.Decision.Allowed {
			flags |= flagAllowed
		}
		if a.By != "" {
			flags |= flagBy
		}
		if a.Status == Decided && a.Offer {
			flags |= flagOffer
		}
		if a.Status == Decided && a.Deny.For > 0 {
			flags |= flagDeny
		}
		if a.Status == Decided && a.Life > 0 {
			flags |= flagHeld
		}
		b = append(b, flags)
		b = binary.AppendUvarint(b, a.Number)
		if a.By != "" {
			b = appendBytes(b, a.By)
		}
		if a.Status == Decided {
			b = append(b, a.Which)
			b = binary.AppendUvarint(b, uint64(a.Decision.Remaining))
			b = binary.AppendUvarint(b, uint64(a.Decision.RetryAfter))
			b = binary.AppendUvarint(b, uint64(a.Decision.ResetAfter))
		}
		if a.Status == OtherLimits {
			b = appendBytes(b, a.Entry)
		}
		if flags&flagDeny != 0 {
			b = appendDeny(b, a.Deny)
		}
		if flags&flagHeld != 0 {
			b = binary.AppendUvarint(b, uint64(a.Life))
		}
	}
	return b
}

// DecodeAnswers reads a frame of answers into f. The error wraps ErrFrame; f is of no use then.
func DecodeAnswers(frame []byte, f *AnswersFrame) error {
	r := open(frame, typeAnswers)
	f.Dequeued = r.uvarint()
	f.Answers = f.Answers[:0]
	for len(r.b) > 0 {
		flags := r.byte()
		a := Answer{Status: Status(flags & statusMask), Number: r.uvarint()}
		if flags&flagBy != 0 {
			a.By = string(r.bytes(maxNameBytes))
		}
		if a.Status == Decided {
			a.Which, a.Offer = r.byte(), flags&flagOffer != 0
			a.Decision = bucket.Decision{
				Allowed:    flags&flagAllowed != 0,
				Remaining:  r.int63(),
				RetryAfter: r.duration(),
				ResetAfter: r.duration(),
			}
			if flags&flagDeny != 0 {
				a.Deny = r.deny()
			}
			if flags&flagHeld != 0 {
				a.Life = r.term()
			}
		}
		if a.Status == OtherLimits {
			a.Entry = string(r.bytes(MaxEntryBytes))
		}
		if a.Status >= statuses || a.Which >= maxStates {
			r.fail("an answer is out of range")
		}
		f.Answers = append(f.Answers, a)
	}
	return r.end()
}
