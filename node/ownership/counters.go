package ownership

import (
	"github.com/drossel-dev/drossel/bucket"
)

// Counters count since the machine was made.
type Counters struct {
	Given    uint64 // partitions handed over to another node
	Received uint64 // and those that came from one
	Mints    uint64 // partitions taken over from a lost owner
	Blank    uint64 // of them without any copy
	Losses   uint64 // incarnations whose loss this node has confirmed
	Changes  uint64 // of the list, that this node put in place first
	Renewals uint64 // times that this node went on as another incarnation
	Refused  uint64 // of them because a majority refused a partition
	Outbid   uint64 // partitions given up because somebody had a higher claim
}

// How is how a partition came to a node, or went.
type How uint8

const (
	Founded  How = iota + 1 // with the cluster
	Received                // by transfer
	Minted                  // taken over from a lost owner
	Given                   // away
)

// String returns the name used in JSON and logs.
func (h How) String() string {
	switch h {
	case Founded:
		return "founded"
	case Received:
		return "received"
	case Minted:
		return "minted"
	case Given:
		return "given"
	}
	return ""
}

// Move is the last time that a partition came or went. From is the other node: for Given it is the new owner.
type Move struct {
	How   How
	From  string
	Claim Claim
	At    bucket.Instant
}
