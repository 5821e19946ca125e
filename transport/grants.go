package transport

import (
	"encoding/binary"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// Grant is what the owner of a group says to a holder.
type Grant struct {
	ID bucket.ID
	// Answer is to the request of its Number, or to none if that is zero: then it is a recall that nobody asked for.
	// Number.Incarnation is not sent, for the stream is of one boot of the holder: decoding leaves it 0. Tokens and
	// Level.Remaining are 0 to bucket.MaxTokens, Level.Which 0 to 15, TTL, Next and Deny.For at most an hour. What is
	// zero is not sent, nor is a Deny for no time.
	lease.Answer
}

// GrantsFrame is one frame of grants, from the side that was dialed. Decoding reuses its slice.
type GrantsFrame struct {
	Grants []Grant
}

// MaxGrants is how many grants fit into a frame whatever they hold. More go into the next frame.
const MaxGrants = 4096

// The flags of a grant.
const (
	grantRecall byte = 1 << iota
	grantLease
	grantTokens
	grantTTL
	grantNext
	grantDeny
	grantLevel
	grantUnknown
)

func (g *Grant) flags() (flags byte) {
	for _, part := range [...]struct {
		flag byte
		sent bool
	}{
		{grantRecall, g.Recall},
		{grantLease, g.Lease != lease.ID{}},
		{grantTokens, g.Tokens != 0},
		{grantTTL, g.TTL != 0},
		{grantNext, g.Next != 0},
		{grantDeny, g.Deny.For > 0},
		{grantLevel, g.Level != lease.Level{}},
	} {
		if part.sent {
			flags |= part.flag
		}
	}
	return flags
}

// AppendGrants appends the frame to b.
func AppendGrants(b []byte, f *GrantsFrame) []byte {
	b = append(b, byte(typeGrants))
	for i := range f.Grants {
		g := &f.Grants[i]
		flags := g.flags()
		b = append(b, flags)
		b = appendID(b, g.ID)
		b = binary.AppendUvarint(b, g.Number.Seq)
		if flags&grantLease != 0 {
			b = appendLeaseID(b, g.Lease)
		}
		if flags&grantTokens != 0 {
			b = binary.AppendUvarint(b, uint64(g.Tokens))
		}
		if flags&grantTTL != 0 {
			b = binary.AppendUvarint(b, uint64(g.TTL))
		}
		if flags&grantNext != 0 {
			b = binary.AppendUvarint(b, uint64(g.Next))
		}
		if flags&grantDeny != 0 {
			b = appendDeny(b, g.Deny)
		}
		if flags&grantLevel != 0 {
			b = append(b, g.Level.Which)
			b = binary.AppendUvarint(b, uint64(g.Level.Remaining))
			b = binary.AppendUvarint(b, uint64(g.Level.ResetAfter))
		}
	}
	return b
}

// IsGrants says whether a frame that came is one of grants. Where answers are due, it is that or answers.
func IsGrants(frame []byte) bool { return len(frame) > 0 && frameType(frame[0]) == typeGrants }

// DecodeGrants reads a frame of grants into f. The error wraps ErrFrame; f is of no use then.
func DecodeGrants(frame []byte, f *GrantsFrame) error {
	r := open(frame, typeGrants)
	f.Grants = f.Grants[:0]
	for len(r.b) > 0 {
		flags := r.byte()
		g := Grant{ID: r.id()}
		g.Recall, g.Number.Seq = flags&grantRecall != 0, r.uvarint()
		if flags&grantLease != 0 {
			g.Lease = r.leaseID()
		}
		if flags&grantTokens != 0 {
			g.Tokens = r.upTo(bucket.MaxTokens)
		}
		if flags&grantTTL != 0 {
			g.TTL = r.term()
		}
		if flags&grantNext != 0 {
			g.Next = r.term()
		}
		if flags&grantDeny != 0 {
			g.Deny = r.deny()
		}
		if flags&grantLevel != 0 {
			g.Level = lease.Level{Which: r.byte(), Remaining: r.upTo(bucket.MaxTokens), ResetAfter: r.duration()}
		}
		if flags >= grantUnknown || g.Level.Which >= maxStates {
			r.fail("a grant is out of range")
		}
		f.Grants = append(f.Grants, g)
	}
	return r.end()
}
