package ring

// Member is one node as the ring sees it. Only the ID decides where partitions go; the ID and Boot make the epoch.
type Member struct {
	// ID is the stable name of the node, the same after a restart. Any bytes, not empty.
	ID string
	// Boot is the incarnation: a newer process of the same ID has a larger one.
	Boot uint64
	// Peer is the address, host:port, at which other members reach it.
	Peer string
	// State is where it is in its life.
	State State
}

// State is where a member is in its life. The numbers are those of the wire; the zero State is not a state.
type State uint8

const (
	Joining State = iota + 1 // up, and taking over its partitions
	Active                   // serving
	Leaving                  // handing its partitions over; not placed any more
)

// String returns the name used in JSON, metrics and logs.
func (s State) String() string {
	switch s {
	case Joining:
		return "joining"
	case Active:
		return "active"
	case Leaving:
		return "leaving"
	}
	return "unknown"
}
