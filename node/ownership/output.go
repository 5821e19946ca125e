package ownership

// Output is what a machine wants done. Acts come first, in order, then messages.
type Output struct {
	Acts []Act
	Send []Envelope
	// Changed says that Decider may answer otherwise than before.
	Changed bool
}

// Envelope is a message on its way.
type Envelope struct {
	To      string
	Message Message
}

// Take returns what the machine wants done since the last time, and forgets it. The slices are the caller's.
func (m *Machine) Take() Output {
	out := m.output
	m.output = Output{}
	return out
}

func (m *Machine) send(to string, msg Message) {
	m.output.Send = append(m.output.Send, Envelope{to, msg})
}

// tell sends a message to every other member.
func (m *Machine) tell(msg Message) {
	for _, id := range m.list.members {
		if id != m.self.ID {
			m.send(id, msg)
		}
	}
}

func (m *Machine) act(a Act) {
	m.output.Acts = append(m.output.Acts, a)
	m.output.Changed = true
}

// An Act is something for the node to do with the groups of a partition. There are three places for them: what the node
// holds, the copy it keeps for an owner, and what is staged on its way here.
type Act interface{ act() }

// Open lets the node decide for a partition that it holds, while it has authority.
type Open struct {
	Partition int
	Claim     Claim
}

// Pause keeps the node from deciding for a partition until the next Open.
type Pause struct{ Partition int }

// Mint makes the partition's groups those of the node, closed for now: from the copy, from what is held and frozen, or
// from nothing. But for a founding, what limits say
// about the loss of an owner applies.
type Mint struct {
	Partition int
	Claim     Claim
	From      Source
	Lost      Member // who held it, if that is known
	Founding  bool   // there was no owner to lose
}

// Source is where the groups of a minted partition come from.
type Source uint8

const (
	Nothing Source = iota // there was no copy
	Kept                  // the copy
	Frozen                // what is held
)

// String is for logs.
func (s Source) String() string { return [...]string{"nothing", "a copy", "what was frozen"}[s] }

// Install makes what is staged the node's own, closed for now.
type Install struct {
	Partition int
	Claim     Claim
}

// Stream has the groups of a partition copied to another node, while this one goes on deciding. The node calls Streamed
// when little is left.
type Stream struct {
	Partition int
	Claim     Claim
	To        Member
}

// Stop ends a Stream whose target is not wanted any more.
type Stop struct{ Partition int }

// Freeze ends deciding, and has what has changed since Stream copied as well. The node calls Staged when all is there;
// until then it tries for ever, or until another act about the partition.
type Freeze struct {
	Partition int
	Claim     Claim
	To        Member
}

// HandedOver makes what was frozen a copy.
type HandedOver struct {
	Partition int
	To        Member
}

// Shut ends deciding for good, and makes what is held a copy: somebody else has the partition by now, or will.
type Shut struct{ Partition int }

// Fetch has the copy that another node keeps brought here in place of this node's own. The node calls Fetched.
type Fetch struct {
	Partition int
	From      string
	Copy      Copy
}

// Discard forgets a copy that is not needed any more.
type Discard struct{ Partition int }

// Renewed says that the node goes on as another incarnation.
type Renewed struct {
	Was, Is Member
	Why     string
}

func (*Open) act()       {}
func (*Pause) act()      {}
func (*Mint) act()       {}
func (*Install) act()    {}
func (*Stream) act()     {}
func (*Stop) act()       {}
func (*Freeze) act()     {}
func (*HandedOver) act() {}
func (*Shut) act()       {}
func (*Fetch) act()      {}
func (*Discard) act()    {}
func (*Renewed) act()    {}
