package ownership

// Decode returns the message that Append has written. Whatever the bytes are, it is in range, and aliases none of them:
// partitions are below 65,536, ascend, and are named once each; an id has 1 to 120 bytes, except where nobody may be
// named, as the owner of a Claim or the one Lost; a list says at most 4,096 things. What it holds is bounded by a small
// multiple of len(b). The error wraps ErrMessage and says what is wrong, an unknown type or bytes left over included.
func Decode(b []byte) (Message, error) {
	r := reader{b: b}
	m := r.message()
	if err := r.end(); err != nil {
		return nil, err
	}
	return m, nil
}

// message reads fields in the order in which they are written below, which is that of Append.
func (r *reader) message() Message {
	r.kind = messageType(r.byte())
	switch r.kind {
	case typeHeartbeat:
		hb := &Heartbeat{Incarnation: r.uint64(), Seq: r.uvarint()}
		hb.State, hb.Deaf = r.state()
		hb.Digest, hb.Claims = r.uint64(), r.claims()
		return hb
	case typeAck:
		r.table()
		return &Ack{Incarnation: r.uint64(), Seq: r.uvarint(), Refused: r.held()}
	case typeLostYou:
		return &LostYou{Incarnation: r.uint64()}
	case typeListIs:
		return &ListIs{List: r.list()}
	case typeMemory:
		m := &Memory{List: r.list()}
		r.table()
		m.Lost, m.Claims = entries(r, 1, (*reader).name), r.held()
		m.Promised, m.Seconded = r.ballot(), r.seconded()
		return m
	case typeWho:
		return &Who{}
	case typeNoList:
		return &NoList{Incarnation: r.uint64()}
	case typeJoin:
		return &Join{Incarnation: r.uint64()}
	case typePropose:
		return &Propose{N: r.uvarint(), Change: r.change(), Digest: r.uint64()}
	case typeSecond:
		return &Second{N: r.uvarint(), Digest: r.uint64()}
	case typeCanvass:
		return &Canvass{N: r.uvarint(), Change: r.change(), Begun: r.flag(), Digest: r.uint64()}
	case typePromise:
		return &Promise{To: r.ballot(), Said: r.seconded(), Digest: r.uint64()}
	case typeAsk:
		r.table()
		return &Ask{Lost: r.name(), Digest: r.uint64(), Heirs: r.heirs()}
	case typeConfirm:
		r.table()
		return &Confirm{Lost: r.name(), Digest: r.uint64(), Heirs: r.heirs()}
	case typeStillHeard:
		return &StillHeard{Member: r.member()}
	case typeOwners:
		r.table()
		return &Owners{Held: r.held()}
	case typeInherit:
		r.table()
		return &Inherit{Lost: r.name(), Heirs: r.heirs()}
	case typeCopiesOf:
		return &CopiesOf{Partitions: r.partitions()}
	case typeCopies:
		r.table()
		return &Copies{Copies: r.copies()}
	case typePrepare:
		return &Prepare{Incarnation: r.uint64(), Digest: r.uint64(), Partitions: r.partitions()}
	case typeFinal:
		r.table()
		return &Final{Incarnation: r.uint64(), Moves: r.held()}
	}
	r.fail("unknown")
	return nil
}

// table reads the members that the rest names by number.
func (r *reader) table() { r.who = entries(r, leastMember, (*reader).member) }

// entries reads a count, and as many entries of at least so many bytes. It is nil for none.
func entries[T any](r *reader, least int, read func(*reader) T) []T {
	n := r.count(partitionBound, least)
	if n == 0 {
		return nil
	}
	r.last = -1
	all := make([]T, n)
	for i := range all {
		all[i] = read(r)
	}
	return all
}

func (r *reader) partitions() []int { return entries(r, 1, (*reader).partition) }

func (r *reader) claims() []Named {
	return entries(r, 2, func(r *reader) Named {
		flagged := r.uvarint()
		n := Named{Partition: r.after(flagged >> claimFlags), Term: r.uvarint(), Elsewhere: flagged&claimElsewhere != 0, Live: flagged&claimLive != 0}
		if flagged&claimFrom != 0 {
			n.From = r.member()
		}
		return n
	})
}

func (r *reader) held() []Held {
	return entries(r, 2, func(r *reader) Held { return Held{Partition: r.partition(), Claim: r.claim()} })
}

func (r *reader) heirs() []Heir {
	return entries(r, 3, func(r *reader) Heir {
		h := Heir{Partition: r.partition(), Term: r.uvarint(), Member: r.name()}
		if h.Member.ID == "" {
			r.fail("partition %d has nobody for an heir", h.Partition)
		}
		return h
	})
}

func (r *reader) copies() []Copy {
	return entries(r, 3, func(r *reader) Copy {
		return Copy{Partition: r.partition(), Claim: r.claim(), Seq: r.uvarint()}
	})
}
