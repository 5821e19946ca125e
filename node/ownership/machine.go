package ownership

import (
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// Config says what a Machine is.
type Config struct {
	// Self is this node; after a restart its incarnation is higher.
	Self Member
	// Partitions is how many there are, the same for all members.
	Partitions int
	// Place returns the owner of every partition, as an index into ids, which are sorted and at least one. It is the same
	// function at all members. Nil means that they can't be placed.
	Place func(ids []string) []uint16
	// Alone says that no seed is another node: the node need not wait for anybody.
	Alone bool
	// Expect is how many new nodes have to meet before the lowest id of them founds a cluster; 0 waits for JoinTimeout.
	Expect int
	// JoinTimeout is how long a new node looks for a cluster before it founds one with whom it has met.
	JoinTimeout time.Duration
	// Forget is how long a member may be silent before it is dropped from the list.
	Forget time.Duration
	// Settle is how long placement stays as it is after a change of who is placed, so that several changes are one.
	Settle time.Duration
}

// Machine is one node's part in ownership. Make it with New, call its methods under one lock, and carry out what Take
// returns after each. Instants are those of one clock that includes time asleep.
type Machine struct {
	cfg  Config
	self Member
	born bucket.Instant

	list    List
	changed bucket.Instant // until then the list is too new for losses to be confirmed
	joined  bool
	since   bucket.Instant // when it joined
	hearing bucket.Instant // when it heard a majority last
	leaving bool
	left    bool
	known   bool // another member has the list without this node
	lively  int  // members that can be given something, at the last step
	// superseded: a newer process has this node's id.
	superseded bool
	met        map[string]meeting // who was asked for a list, and what they said; until there is one
	memory     bool               // it remembers what it acknowledged, or there was nothing to remember
	returned   bool               // it was a member before it knew: for a fence it acknowledges nothing
	peers      []Member           // whom gossip knows

	heard     map[string]heard
	early     map[string]*Heartbeat // by another list
	seq       uint64
	beats     []beat
	authority bucket.Instant
	soon      bool // a heartbeat is due out of turn
	sentAt    bucket.Instant
	next      map[timer]bucket.Instant

	voter  voter
	parts  []partition
	owners map[Member]int // how many partitions each is known to have
	astray bool           // some partition may be known to be elsewhere than here, where it is placed
	moves  bool           // some partition is on its way out, or was asked for
	asks   map[Member]*asking
	accord accord
	wants  map[Change]bucket.Instant // changes that this node proposes, and when they were wanted last
	via    map[string]relayed
	silent map[string]bool // who was not heard at the last step
	// answered says when each member last acknowledged a heartbeat of this incarnation.
	answered map[string]bucket.Instant

	takings  bool                      // some partition is being taken over
	deaf     map[string]bucket.Instant // until when no snapshots are sent to whom
	placed   placement
	caches   map[string][]uint16
	output   Output
	counters Counters
}

// heard is what is known of another node from its own heartbeats.
type heard struct {
	at          bucket.Instant // of the last one that counts
	spoke       bucket.Instant // of the last one
	incarnation uint64
	state       State
	ever        bool // not merely listed
}

// partition is what a machine knows of one.
type partition struct {
	known   Claim // the highest there is word of
	held    *holding
	copy    Copy   // kept here
	beat    uint64 // the owner's heartbeat before the copy was sent
	staged  Claim  // whose groups have all arrived here
	sole    bool   // the copy is of what this node has given away, and perhaps the only one
	taking  *taking
	wanted  Member // asked for it lately
	asked   bucket.Instant
	history Move // the last time it came or went
}

// holding is a partition that this node holds.
type holding struct {
	claim     Claim
	since     bucket.Instant
	open      bool // a majority has acknowledged the claim: the node decides
	authority bucket.Instant
	to        Member // on its way there
	frozen    bool
	staged    bool // all of it is there
	told      bucket.Instant
	from      Member // who gave it to this node, if somebody did
	replica   replica
}

// timer names what is not done at every tick.
type timer struct {
	what kind
	who  Member
}

type kind uint8

const (
	heartbeatTimer kind = iota
	joinTimer
	prepareTimer
	askTimer
	changeTimer
)

// New returns a machine at now, of a node that knows of no cluster yet.
func New(cfg Config, now bucket.Instant) *Machine {
	m := &Machine{
		cfg: cfg, self: cfg.Self, born: now, authority: now, changed: now,
		met: make(map[string]meeting), heard: make(map[string]heard), early: make(map[string]*Heartbeat), next: make(map[timer]bucket.Instant),
		parts: make([]partition, cfg.Partitions), owners: map[Member]int{{}: cfg.Partitions}, asks: make(map[Member]*asking),
		wants: make(map[Change]bucket.Instant), via: make(map[string]relayed), silent: make(map[string]bool), caches: make(map[string][]uint16),
		deaf: make(map[string]bucket.Instant), answered: make(map[string]bucket.Instant),
	}
	m.voter = newVoter(cfg.Partitions)
	return m
}

// Peers tells the machine whom gossip knows, this node left out. It decides nothing: it says whom to talk to.
func (m *Machine) Peers(now bucket.Instant, peers []Member) {
	m.peers = peers
	m.step(now)
}

// Tick does what is due at now. Call it every 10 ms or so.
func (m *Machine) Tick(now bucket.Instant) {
	m.beat(now)
	m.step(now)
}

func (m *Machine) step(now bucket.Instant) {
	m.look(now)
	m.listen(now)
	m.acknowledgeEarly(now)
	if m.joined && m.memory {
		m.propose(now)
		m.detect(now)
		m.takeOver(now)
		m.pull(now)
		m.repeatFinals(now)
	}
	if m.soon {
		m.beat(now)
	}
}

// listen notes who is silent: checks need not be sent there. And whether this node hears enough of the others.
func (m *Machine) listen(now bucket.Instant) {
	n := 0
	for _, id := range m.list.members {
		if id == m.self.ID || m.speaks(now, id) {
			n++
		}
	}
	if n >= m.list.Majority() {
		m.hearing = now
	}
	for _, id := range m.list.members {
		silent := id != m.self.ID && !m.hears(now, id)
		if r, ok := m.via[id]; silent && ok {
			silent = now-r.at >= bucket.Instant(m.fence())
		}
		if silent != m.silent[id] {
			m.silent[id] = silent
			m.output.Changed = true
		}
	}
}

// Receive takes in a message.
func (m *Machine) Receive(now bucket.Instant, from string, msg Message) {
	if from == m.self.ID || m.superseded {
		return
	}
	switch msg := msg.(type) {
	case *Heartbeat:
		m.heartbeat(now, from, msg)
	case *Ack:
		m.ack(now, from, msg)
	case *LostYou:
		m.lostMe(now, from, msg)
	case *ListIs:
		m.listIs(now, from, msg)
	case *Memory:
		m.remember(now, from, msg)
	case *Who:
		m.who(from)
	case *NoList:
		m.meet(now, from, false)
	case *Join:
		if m.joined && m.memory {
			m.want(now, Change{Member: Member{from, msg.Incarnation}})
			m.press(now)
		}
	case *Canvass:
		m.canvassed(now, from, msg)
	case *Promise:
		m.promised(now, from, msg)
	case *Propose:
		m.second(now, from, msg)
	case *Second:
		m.seconded(now, from, msg)
	case *Ask:
		m.confirm(now, from, msg)
	case *Confirm:
		m.confirmed(now, from, msg)
	case *StillHeard:
		m.via[msg.Member.ID] = relayed{by: from, at: now}
	case *Owners:
		for _, h := range msg.Held {
			m.learn(now, h.Partition, h.Claim)
		}
	case *Inherit:
		m.inherit(now, msg)
	case *CopiesOf:
		m.copiesOf(from, msg)
	case *Copies:
		m.copies(now, from, msg)
	case *Prepare:
		m.prepare(now, from, msg)
	case *Final:
		m.final(now, from, msg)
	}
	if m.soon {
		m.beat(now)
	}
}

// due says whether a timer has run out, and winds it up again.
func (m *Machine) due(now bucket.Instant, t timer, every time.Duration) bool {
	if at, ok := m.next[t]; ok && now < at {
		return false
	}
	m.next[t] = now + bucket.Instant(every)
	return true
}

// fence is how long authority lasts in the present list.
func (m *Machine) fence() time.Duration {
	return Fence(max(len(m.list.members), len(m.accord.next.members)))
}

func (m *Machine) inRange(partition int) bool { return partition >= 0 && partition < len(m.parts) }

// isDeaf says that this node has not heard a majority for two fences.
func (m *Machine) isDeaf(now bucket.Instant) bool {
	return now-max(m.hearing, m.since) > bucket.Instant(2*m.fence())
}

// speaks says that something came from a member a moment ago, though it may not hear this node.
func (m *Machine) speaks(now bucket.Instant, id string) bool {
	h, ok := m.heard[id]
	return ok && now-h.spoke < bucket.Instant(m.fence())
}

// hears says that a member was heard a moment ago.
func (m *Machine) hears(now bucket.Instant, id string) bool {
	h, ok := m.heard[id]
	return ok && now-h.at < bucket.Instant(m.fence())
}

// learn takes in a claim that somebody makes. A lower one than is known says nothing.
func (m *Machine) learn(now bucket.Instant, part int, c Claim) {
	if !m.inRange(part) || c.Owner == "" {
		return
	}
	p := &m.parts[part]
	if h := p.held; h != nil && c.Owner != m.self.ID {
		switch {
		case h.frozen && h.to == c.Member() && c.Term > h.claim.Term:
			m.handedOver(now, part)
		case h.claim.Less(c):
			m.counters.Outbid++
			m.drop(part)
		}
	}
	if p.known.Less(c) {
		m.know(p, c)
		p.taking = nil
		m.output.Changed = true
	}
}

// know notes whose a partition is.
func (m *Machine) know(p *partition, c Claim) {
	was := p.known.Member()
	if m.owners[was]--; m.owners[was] == 0 {
		delete(m.owners, was)
	}
	m.owners[c.Member()]++
	p.known, m.astray = c, true
}

// drop gives a partition up to whoever has it, or will. Its groups are kept as a copy: what they admitted since the last
// snapshot may be admitted again.
func (m *Machine) drop(part int) {
	p := &m.parts[part]
	h := p.held
	p.held, m.astray = nil, true
	p.copy = Copy{Partition: part, Claim: h.claim, Seq: h.replica.seq + 1}
	m.voter.gaveUp(part, m.self)
	m.act(&Shut{part})
}

// renew goes on as another incarnation, which holds nothing.
func (m *Machine) renew(now bucket.Instant, why string) {
	for part := range m.parts {
		if m.parts[part].held != nil {
			m.drop(part)
		}
		m.parts[part].taking = nil
	}
	was := m.self
	m.self.Incarnation = max(m.self.Incarnation, m.list.Newest(m.self.ID)) + 1
	m.beats = nil
	clear(m.answered)
	m.authority = now
	m.soon = true
	m.counters.Renewals++
	m.act(&Renewed{Was: was, Is: m.self, Why: why})
}

// Known ids of the cluster other than this node, listed or only met.
func (m *Machine) others() []string {
	ids := slices.Clone(m.list.members)
	for _, p := range m.peers {
		if !m.list.Has(p.ID) {
			ids = append(ids, p.ID)
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == m.self.ID })
}
