package ownership

// A Message is what one machine says to another. Messages may be lost, come late, twice, or in another order. The sender's
// id is known from the connection and not part of them.
type Message interface{ message() }

// State is where a member is in its life, as its heartbeats say.
type State uint8

const (
	Joining State = iota + 1 // up, not listed yet
	Active                   // a member
	Leaving                  // handing over
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

// Heartbeat asks for authority.
type Heartbeat struct {
	Incarnation uint64
	Seq         uint64
	State       State
	// Deaf says that the sender has not heard a majority for long. It can't be acknowledged, and so is no use to anybody.
	Deaf   bool
	Digest uint64  // of the sender's list
	Claims []Named // what it holds, by partition
}

// Named is a partition that the sender of a heartbeat holds or claims.
type Named struct {
	Partition int
	Term      uint64
	// Elsewhere says that a copy is kept by another node than the receiver, so that the receiver's is not needed.
	Elsewhere bool
	// Live says that the sender has authority for it as it says so.
	Live bool
	// From is who has handed the partition over, until a majority has acknowledged that; nobody if it was taken over.
	From Member
}

// Ack acknowledges a heartbeat, but for the partitions that it refuses.
type Ack struct {
	Incarnation uint64 // of who is acknowledged
	Seq         uint64
	Refused     []Held
}

// Held says what the sender knows to be the highest claim of a partition.
type Held struct {
	Partition int
	Claim     Claim
}

// LostYou tells an incarnation that the sender confirmed its loss, and will never acknowledge it again.
type LostYou struct{ Incarnation uint64 }

// ListIs carries a list. It is answered with the receiver's, if that is another after merging.
type ListIs struct{ List List }

// Memory answers who asks for the list with it, and with what its receiver may have forgotten: whose loss the sender has
// confirmed, the highest claims that it has acknowledged, and what it has said about the change that follows the list.
type Memory struct {
	List     List
	Lost     []Member
	Claims   []Held
	Promised Ballot
	Seconded Seconded
}

// Who asks for a list; the answer is Memory or NoList.
type Who struct{}

// NoList says that the sender has no list, or had one and lost it.
type NoList struct{ Incarnation uint64 }

// Join asks a member to propose the sender.
type Join struct{ Incarnation uint64 }

// Ballot is an attempt of a member to agree on a change. The zero Ballot is lower than all.
type Ballot struct {
	N  uint64
	ID string // who proposes
}

// Seconded is a change that was seconded, and when; the zero Seconded is none.
type Seconded struct {
	At     Ballot
	Change Change
}

// Canvass asks, before the sender proposes a change to the list that has this digest, for a promise.
type Canvass struct {
	N      uint64 // of the sender's ballot
	Change Change
	// Begun says that the change was seconded by somebody, and may be in place: whether it should be is not the question.
	Begun  bool
	Digest uint64
}

// Promise says which ballot is the lowest that its sender answers from now on, and what it has seconded.
type Promise struct {
	To     Ballot
	Said   Seconded
	Digest uint64
}

// Propose asks to second a change.
type Propose struct {
	N      uint64
	Change Change
	Digest uint64
}

// Second seconds it.
type Second struct {
	N      uint64
	Digest uint64
}

// Ask asks to confirm the loss of a member, and says who should have its partitions.
type Ask struct {
	Lost   Member
	Digest uint64
	Heirs  []Heir
}

// Heir is who should have a partition next. In an Ask and an Inherit the Term is the highest that the sender knows of, in
// a Confirm the highest that the confirming member knows of.
type Heir struct {
	Partition int
	Term      uint64
	Member    Member
}

// Confirm confirms a loss, and says whom the sender names heir of each partition.
type Confirm struct {
	Lost   Member
	Digest uint64
	Heirs  []Heir
}

// StillHeard says that the sender has acknowledged the member a moment ago.
type StillHeard struct{ Member Member }

// Owners says who holds partitions by higher claims than the receiver seems to know.
type Owners struct{ Held []Held }

// Inherit tells the heir of partitions that a majority has confirmed the loss of their owner.
type Inherit struct {
	Lost  Member
	Heirs []Heir // all of them the receiver
}

// CopiesOf asks what copies of partitions the receiver keeps.
type CopiesOf struct{ Partitions []int }

// Copies answers, for every partition that was asked for.
type Copies struct{ Copies []Copy }

// Copy describes the copy of a partition's groups that a member keeps; Claim is zero if it keeps none.
type Copy struct {
	Partition int
	Claim     Claim  // of the owner it is a copy of
	Seq       uint64 // rises with each snapshot of an owner
}

// Less orders copies of one partition by how fresh they are.
func (c Copy) Less(d Copy) bool {
	return c.Claim.Less(d.Claim) || c.Claim == d.Claim && c.Seq < d.Seq
}

// Prepare asks the holder of partitions for them, because the ring says that they should be the sender's.
type Prepare struct {
	Incarnation uint64
	Digest      uint64
	Partitions  []int
}

// Final gives partitions away: their groups are all at the receiver.
type Final struct {
	Incarnation uint64 // of the receiver
	Moves       []Held // the claims that end
}

func (*Heartbeat) message()  {}
func (*Ack) message()        {}
func (*LostYou) message()    {}
func (*ListIs) message()     {}
func (*Memory) message()     {}
func (*Who) message()        {}
func (*NoList) message()     {}
func (*Join) message()       {}
func (*Canvass) message()    {}
func (*Promise) message()    {}
func (*Propose) message()    {}
func (*Second) message()     {}
func (*Ask) message()        {}
func (*Confirm) message()    {}
func (*StillHeard) message() {}
func (*Owners) message()     {}
func (*Inherit) message()    {}
func (*CopiesOf) message()   {}
func (*Copies) message()     {}
func (*Prepare) message()    {}
func (*Final) message()      {}
