package ownership

const (
	scenes     = "TestScenarios/"
	votes      = "func (m *Machine) votes(now bucket.Instant) bool { return "
	confirming = "	if now-m.born <= drift(m.fence()) || now <= m.changed {\n"
	elects     = "	return term, n >= m.list.Majority()\n"
	moves      = "		c := Claim{Epoch{move.Claim.Term + 1, m.self.Incarnation}, m.self.ID}\n"
	mints      = "	c := Claim{Epoch{max(t.term, own.Claim.Term) + 2, m.self.Incarnation}, m.self.ID}\n"
	stops      = "		case !h.frozen && (m.gone(now, h.to) || m.placed.owner(part) != h.to.ID):\n"
	merges     = "	return l.merge(other)\n"
	needs      = "		need := min(n-m.list.Majority()+1, n-1)\n"
	listens    = "	if m.voter.isLost(who) {\n		m.send(from, &LostYou{who.Incarnation})\n		return\n	}\n"
)

// mutants are the rules of DESIGN.md broken one by one.
var mutants = []mutant{
	// Authority.
	{"decision after authority ran out", scenes + "owner alone", []edit{
		{"heartbeat.go", "b.sent+bucket.Instant(Fence(q.members))", "b.sent+2*bucket.Instant(Fence(q.members))"},
	}},
	{"authority from receipt", scenes + "owner alone", []edit{
		{"heartbeat.go", "b.sent+bucket.Instant(Fence(q.members))", "now+bucket.Instant(Fence(q.members))"},
	}},
	{"authority without a majority", scenes + "owner alone", []edit{
		{"heartbeat.go", "majority: len(members)/2 + 1}", "majority: len(members) / 2}"},
	}},
	{"no epsilon", scenes + "owner alone", []edit{
		{"terms.go", "return bucket.Instant(d + d/1000*21)", "return bucket.Instant(d)"},
	}},
	{"an acknowledgement of another incarnation counts", "TestAuthorityIsOfOneIncarnation", []edit{
		{"heartbeat.go", "	if a.Incarnation != m.self.Incarnation {\n", "	if false {\n"},
		{"machine.go", "	m.beats = nil\n", ""},
	}},
	{"a heartbeat that names nothing", "TestAuthority", []edit{
		{"takeover.go", "	p.held = &holding{claim: c, since: now}\n", "	p.held = &holding{claim: c, since: now, open: true}\n	m.act(&Open{part, c})\n"},
	}},
	{"acknowledged under another list", "TestVoterWantsOneList", []edit{
		{"heartbeat.go", "	if hb.Digest != m.digest() {\n		m.early[from] = hb\n		return\n	}\n", ""},
	}},
	{"what is refused is decided", "TestAuthorityOfAPartition", []edit{
		{"heartbeat.go", "		m.pauseLate()\n", ""},
	}},
	{"who is refused by a majority goes on", "TestAuthorityOfAPartition", []edit{
		{"heartbeat.go", "			if no > q.members-q.majority {\n", "		if false {\n"},
	}},
	{"self-vote while quiet", "TestAuthorityWhileQuiet", []edit{
		{"heartbeat.go", "	if m.votes(now) {\n		b.acks", "	if m.joined {\n		b.acks"},
	}},
	{"no quiet after a return", "TestVoterIsQuiet", []edit{
		{"heartbeat.go", "	return m.returned && ", "	return false && "},
	}},

	// What a voter must not contradict.
	{"lower epoch accepted", "TestVoterRefuses", []edit{
		{"voter.go", "c.Less(g.claim) || ", ""},
	}},
	{"refused claims acknowledged", "TestVoterRefuses", []edit{
		{"voter.go", "			refused = append(refused, Held{n.Partition, g.claim})\n", ""},
	}},
	{"another claims while the heir has time", "TestVoterKeepsItsHeir", []edit{
		{"voter.go", " || h.open(now) && h.Member != who && c.Term <= h.Term+2", ""},
	}},
	{"given to the next while another may decide", "TestVoterGivesToOne", []edit{
		{"voter.go", "now <= g.wait || ", ""},
	}},
	{"given to the next, as nodes see it", scenes + "the heir is cut off as it is named", []edit{
		{"voter.go", "now <= g.wait || ", ""},
	}},
	{"given to anybody while the list is new", "TestVoterWaitsWithANewList", []edit{
		{"voter.go", " || now <= listChanged && !n.Live && !g.handed {", " {"},
	}},
	{"what has an owner is lost while the list is new", "TestVoterWaitsWithANewList", []edit{
		{"voter.go", " && !n.Live && !g.handed {", " && !g.handed {"},
	}},
	{"what is handed over waits while the list is new", "TestVoterWaitsWithANewList", []edit{
		{"voter.go", " && !n.Live && !g.handed {", " && !n.Live {"},
	}},
	{"who founds waits for nobody", "TestFoundsAtOnce", []edit{
		{"join.go", "	m.changed = now - 1 // nobody", "	// nobody"},
	}},
	{"handed over by anybody", "TestVoterGivesToOne", []edit{
		{"voter.go", " && was.Member() == from && was.Term+1 == c.Term", ""},
	}},
	{"handed over, and taken over in between", "TestVoterGivesToOne", []edit{
		{"voter.go", " && was.Term+1 == c.Term", ""},
	}},
	{"a late acknowledgement opens", "TestAuthorityComesLate", []edit{
		{"heartbeat.go", " && h.authority >= m.authority {", " {"},
	}},
	{"who hears nobody is heard", "TestDeaf", []edit{
		{"heartbeat.go", "deaf := hb.Deaf && !m.isDeaf(now)", "deaf := false"},
	}},
	{"those who are left do not hear each other", "TestDeafTogether", []edit{
		{"heartbeat.go", "deaf := hb.Deaf && !m.isDeaf(now)", "deaf := hb.Deaf"},
	}},
	{"who learns late that it was there votes at once", "TestVoterWasThere", []edit{
		{"join.go", "		m.returned = true\n", ""},
	}},
	{"who has to wait is who was refused", "TestAuthorityWaits", []edit{
		{"heartbeat.go", "if h.Claim.Member() == self {", "if false {"},
	}},
	{"who has to wait does not", "TestAuthorityWaits", []edit{
		{"heartbeat.go", "-no-q.waiting[named.Partition] >=", "-no >="},
	}},
	{"what a member gave itself counts when it has given up", "TestVoterIsTheHolder", []edit{
		{"machine.go", "	m.voter.gaveUp(part, m.self)\n", ""},
	}},
	{"who has been given something does not say by whom", "TestIsGiven", []edit{
		{"transfer.go", "p.held.from, p.history.From = move.Claim.Member(), from", "p.history.From = from"},
	}},
	{"a lower claim is learned", scenes + "chaos", []edit{
		{"machine.go", "		case h.claim.Less(c):\n", "		default:\n"},
	}},
	{"a higher claim is not heeded", "TestOutbid", []edit{
		{"machine.go", "		case h.claim.Less(c):\n", "		case false:\n"},
	}},
	{"acknowledgement after confirming", scenes + "owner back while its heir sleeps", []edit{
		{"heartbeat.go", listens, ""},
		{"heartbeat.go", "hb.Digest == m.digest() && !m.voter.isLost(who)", "hb.Digest == m.digest()"},
	}},
	{"confirmation by one who just acknowledged", scenes + "owner and heir apart", []edit{
		{"loss.go", "		if now <= v.acked[msg.Lost] {\n			return nil\n		}\n", ""},
	}},
	{"loss confirmed right after the start", "TestVoterConfirmsNothingAfterItsStart", []edit{
		{"loss.go", confirming, "	if now <= m.changed {\n"},
	}},
	{"loss confirmed right after a change of the list", "TestVoterConfirmsNothingAfterAChange", []edit{
		{"loss.go", confirming, "	if now-m.born <= drift(m.fence()) {\n"},
	}},
	{"heirs not remembered", "TestVoterKeepsItsHeir", []edit{
		{"loss.go", "		if !h.open(now) {\n", "		if true {\n"},
	}},
	{"a partition that has another owner by now is given away", "TestVoterKeepsItsHeir", []edit{
		{"loss.go", "if !m.inRange(ask.Partition) || m.passed(ask) {", "if !m.inRange(ask.Partition) {"},
	}},
	{"a member without memory that votes", "TestVoterIsQuiet", []edit{
		{"heartbeat.go", votes + "m.joined && m.memory && ", votes + "m.joined && "},
	}},
	{"a member that remembers too early", scenes + "back without memory, on the other side", []edit{
		{"join.go", needs, "		need := 0 * n\n"},
	}},

	// Losses, and what comes of them.
	{"mint without majority", scenes + "owner and heir apart", []edit{
		{"loss.go", elects, "	return term, n >= 1\n"},
	}},
	{"confirmations kept across a change of the list", "TestAskerBeginsAgain", []edit{
		{"join.go", "	clear(m.asks)\n", ""},
		{"loss.go", "	if a == nil || a.digest != m.list.digest {\n", "	if a == nil {\n"},
		{"loss.go", "	if a == nil || a.digest != m.list.digest || msg.Digest != a.digest || ", "	if a == nil || "},
	}},
	{"late confirmations counted", "TestAskerCounts", []edit{
		{"loss.go", "|| msg.Digest != a.digest ", ""},
	}},
	{"loss confirmed under another list", "TestVoterConfirms", []edit{
		{"loss.go", "|| !m.memory || m.undecided() || msg.Digest != m.list.digest || msg.Lost == m.self", "|| !m.memory || m.undecided() || msg.Lost == m.self"},
		{"loss.go", "msg.Digest != a.digest ||", ""},
	}},
	{"old replies counted", "TestAskerForgets", []edit{
		{"loss.go", " && now-r.at <= bucket.Instant(claimTime) {\n			n++", " {\n			n++"},
	}},
	{"an heir that takes its time", "TestHeirIsTooLate", []edit{
		{"takeover.go", "		case now-t.since > bucket.Instant(claimTime):", "		case false:"},
	}},
	{"an heir that goes on by a lower claim", "TestHeirHoldsALowerClaim", []edit{
		{"takeover.go", "			p.held != nil && !p.held.frozen && p.held.claim.Term >= h.Term:\n", "			p.held != nil && !p.held.frozen:\n"},
	}},
	{"an heir that heeds what it has done", "TestHeirHoldsALowerClaim", []edit{
		{"takeover.go", "p.held.claim.Term >= h.Term", "p.held.claim.Term > h.Term"},
	}},
	{"a take-over that raises the term by one", "TestHeirHasACopy", []edit{
		{"takeover.go", mints, "	c := Claim{Epoch{max(t.term, own.Claim.Term) + 1, m.self.Incarnation}, m.self.ID}\n"},
	}},
	{"a take-over by its own term", scenes + "chaos", []edit{
		{"loss.go", "			term = max(term, r.heir.Term)\n", ""},
		{"takeover.go", mints, "	c := Claim{Epoch{own.Claim.Term + 2, m.self.Incarnation}, m.self.ID}\n"},
	}},
	{"a mint without asking for copies", scenes + "heir hears late of the copies", []edit{
		{"takeover.go", "		case m.enough(now, part, t):\n", "		case true:\n"},
	}},
	{"an heir that waits only for whom it hears", "TestHeirTakesTheFreshest", []edit{
		{"takeover.go", "(blank || id != t.lost.ID || m.hears(now, id))", "m.hears(now, id)"},
	}},
	{"a less fresh copy preferred", "TestHeirTakesTheFreshest", []edit{
		{"takeover.go", "own.Less(c.Copy) && c.fails", "c.Claim.Owner != \"\" && !own.Less(c.Copy) && c.fails"},
	}},
	{"copies of a lost owner accepted", "TestAccepts", []edit{
		{"replica.go", " || m.voter.isLost(s.Claim.Member())", ""},
	}},
	{"copies discarded too early", "TestSaysWhereCopiesAre", []edit{
		{"heartbeat.go", "r.at.ID != \"\" && r.at.ID != id && r.sentTo != id && m.incarnate(r.at.ID) == r.at", "r.sentTo != id"},
	}},
	{"an older snapshot accepted", "TestAccepts", []edit{
		{"replica.go", "	return c.Less(Copy{s.Partition, s.Claim, s.Seq}) && ", "	return "},
	}},
	{"two that name different heirs for ever", "TestVoterTellsWhatItKnows", []edit{
		{"loss.go", "		if (Claim{Epoch{ask.Term, msg.Lost.Incarnation}, msg.Lost.ID}).Less(c) {\n", "		if m.passed(ask) {\n"},
	}},
	{"nobody is the heir of the last one's former self", scenes + "of two one is back as the other leaves", []edit{
		{"loss.go", "	if owners == nil { // there", "	if false { // there"},
	}},
	{"what nobody is known to hold is left", "TestAsksForWhatNobodyHolds", []edit{
		{"loss.go", "owner.ID == \"\" && orphans || ", "owner.ID == \"\" && orphans && false || "},
	}},
	{"who is lost does not notice", "TestLostMe", []edit{
		{"heartbeat.go", "(now > m.authority || m.stuck(now))", "false"},
	}},
	{"who is lost for some ends at once", "TestLostMe", []edit{
		{"heartbeat.go", " && (now > m.authority || m.stuck(now))", ""},
	}},
	{"what is stuck stays", "TestLostMe", []edit{
		{"heartbeat.go", "(now > m.authority || m.stuck(now))", "now > m.authority"},
	}},

	// Moves.
	{"a transfer without a higher term", "TestIsGiven", []edit{
		{"transfer.go", moves, "		c := Claim{Epoch{move.Claim.Term, m.self.Incarnation}, m.self.ID}\n"},
		{"transfer.go", "p.known.Term >= c.Term", "p.known.Term > c.Term"},
	}},
	{"a frozen move aborted", "TestGivesNoMore", []edit{
		{"transfer.go", stops, "		case m.gone(now, h.to) || m.placed.owner(part) != h.to.ID:\n"},
		{"transfer.go", "	h.to = Member{}\n	m.act(&Stop{part})\n", "	h.to, h.frozen, h.staged, h.open = Member{}, false, false, false\n	m.act(&Stop{part})\n"},
	}},
	{"a frozen partition is named", "TestGives", []edit{
		{"heartbeat.go", "h != nil && !h.frozen {\n			n :=", "h != nil {\n			n :="},
		{"heartbeat.go", "if h == nil || h.frozen || h.claim.Term", "if h == nil || h.claim.Term"},
		{"heartbeat.go", "	if !h.open && h.authority", "	if (!h.open || h.frozen) && h.authority"},
	}},
	{"a move to whoever asks", "TestGives", []edit{
		{"transfer.go", " && m.placed.owner(part) == p.wanted.ID && !m.gone(now, p.wanted) {", " {"},
	}},
	{"what was given away is not kept", "TestGives", []edit{
		{"transfer.go", "	p.copy = Copy{part, h.claim, h.replica.seq + 1}\n", "	p.copy = Copy{}\n"},
	}},
	{"a target that dies is not taken over from", "TestAsksForWhatIsFrozen", []edit{
		{"loss.go", "h != nil && h.frozen && isGone(h.to)", "false && isGone(h.to)"},
	}},
	{"final messages said once", "TestGivesAgain", []edit{
		{"transfer.go", "		case h.staged && now-h.told", "		case h.staged && h.told == 0 && now-h.told"},
	}},
	{"an order is installed that is not the one staged", "TestIsGiven", []edit{
		{"transfer.go", "p.staged != move.Claim || ", ""},
	}},
	{"who leaves does not wait for its copies", "TestLeaves", []edit{
		{"join.go", "p.held != nil || p.sole && m.lively > 1", "p.held != nil"},
	}},
	{"who leaves is off the list before it has handed over", scenes + "joins and leaves", []edit{
		{"change.go", " && !m.holds() {", " {"},
	}},

	// The list.
	{"a member without memory that promises", "TestVoterIsQuiet", []edit{
		{"change.go", "	if !m.votes(now) || !m.sameList(from, msg.Digest) {\n		return\n	}\n	if b :=", "	if b :="},
	}},
	{"a member without memory that seconds", "TestVoterIsQuiet", []edit{
		{"change.go", "	if !m.votes(now) || !m.sameList(from, msg.Digest) {\n		return\n	}\n	b :=", "	b :="},
	}},
	{"a promise forgotten", "TestSeconder", []edit{
		{"change.go", "		a.promised = b\n	}\n	m.send(from, &Promise", "	}\n	m.send(from, &Promise"},
	}},
	{"seconded whatever was promised", "TestSeconder", []edit{
		{"change.go", "	if b.Less(a.promised) {\n", "	if false {\n"},
	}},
	{"what was seconded is not told", "TestSeconder", []edit{
		{"change.go", "	m.send(from, &Promise{a.promised, a.seconded, m.list.digest})\n}\n\n// sameList", "	m.send(from, &Promise{a.promised, Seconded{}, m.list.digest})\n}\n\n// sameList"},
	}},
	{"what was seconded is not proposed", "TestProposer", []edit{
		{"change.go", "		p.change = p.found.Change\n", ""},
	}},
	{"proposed without majority", "TestProposer", []edit{
		{"change.go", "	case len(p.by) < m.list.Majority():\n		return\n", ""},
	}},
	{"in place without majority", "TestProposer", []edit{
		{"change.go", "	if len(p.by) >= m.list.Majority() {\n", "	if true {\n"},
	}},
	{"proposed though another was promised", "TestProposerGivesWay", []edit{
		{"change.go", "	if a.promised != p.ballot { // to", "	if false { // to"},
	}},
	{"a ballot that is not above those heard of", "TestProposerGivesWay", []edit{
		{"change.go", "	if a.promised.Less(to) {\n", "	if false {\n"},
	}},
	{"what was seconded is left to its proposer", "TestSeconderGoesOn", []edit{
		{"change.go", "		if now-a.since > bucket.Instant(m.patience()) {\n", "		if false {\n"},
	}},
	{"a list with two successors", "TestOneChangeAtATime", []edit{
		{"change.go", "; a.promised.Less(b) {", "; true {"},
		{"change.go", "	if b.Less(a.promised) {\n", "	if false {\n"},
		{"change.go", "	if a.promised != p.ballot { // to", "	if false { // to"},
		{"change.go", "		p.change = p.found.Change\n", ""},
		{"change.go", "		if p.ballot.Less(msg.To) {\n", "		if false {\n"},
	}},
	{"who has seconded goes by the present list", "TestSeconder", []edit{
		{"change.go", "	if m.undecided() {\n		return m.accord.next.digest\n	}\n", ""},
	}},
	{"a majority of the next list is enough", "TestAuthorityOfBoth", []edit{
		{"heartbeat.go", "	all := []quorum{b.quorum(b.members, self)}\n", "	var all []quorum\n	if b.next == nil {\n		all = append(all, b.quorum(b.members, self))\n	}\n"},
	}},
	{"a majority of the present list is enough", "TestAuthorityOfBoth", []edit{
		{"heartbeat.go", "	if b.next != nil {\n", "	if false {\n"},
	}},
	{"a loss confirmed by who has seconded", "TestSeconder", []edit{
		{"loss.go", "m.undecided() || ", ""},
	}},
	{"what was begun is not ended", "TestSeconderGoesOn", []edit{
		{"change.go", "!msg.Begun && a.seconded", "a.seconded"},
	}},
	{"what was seconded is forgotten with the memory", "TestMemory", []edit{
		{"join.go", "			m.hasSeconded(now, msg.Seconded)\n", ""},
	}},
	{"who is heard is dropped", "TestVoterDropsTheSilent", []edit{
		{"change.go", " && !m.hears(now, c.ID)", ""},
	}},
	{"who agrees that it is dropped itself", "TestVoterDropsTheSilent", []edit{
		{"change.go", "c.ID != m.self.ID && !m.hears", "!m.hears"},
	}},
	{"who is heard again is dropped", "TestProposerHearsAgain", []edit{
		{"change.go", "	case !m.agrees(now, m.self.ID, p.change):\n", "	case false:\n"},
	}},
	{"last write wins", "TestListMerges", []edit{
		{"list.go", merges, "	return other\n"},
	}},
	{"last write wins, as nodes see it", scenes + "changes of the list race", []edit{
		{"list.go", merges, "	return other\n"},
	}},
	{"tombstones kept for ever", "TestTurnover", []edit{
		{"list.go", "	if len(removed) <= maxRemovals {\n", "	if true {\n"},
	}},
	{"a removal forgotten", "TestListMerges", []edit{
		{"list.go", "		removed[id] = removal{max(was.incarnation, r.incarnation), max(was.stamp, r.stamp)}\n",
			"		removed[id] = removal{max(was.incarnation, r.incarnation), r.stamp}\n"},
	}},
	{"who was replaced goes on", "TestTwins", []edit{
		{"join.go", "	case m.memory && m.list.added[m.self.ID] > m.self.Incarnation:\n", "	case false:\n"},
	}},
	{"who was dropped goes on", scenes + "forgotten, and back on the other side", []edit{
		{"join.go", "			m.renew(now, \"it was dropped from the list\")\n", "			m.joined = true\n"},
	}},

	// Founding.
	{"everybody founds", "TestLowestFounds", []edit{
		{"join.go", " || p.ID < m.self.ID {", " {"},
	}},
	{"who has met nobody founds", "TestFoundNever", []edit{
		{"join.go", "	return fresh > 0 && now", "	return now"},
	}},
	{"fewer than expected found", "TestFoundWhatIsExpected", []edit{
		{"join.go", "return fresh+1 >= m.cfg.Expect", "return fresh+2 >= m.cfg.Expect"},
	}},
	{"who is alone for good does not begin again", "TestLastLeaves", []edit{
		{"join.go", "		} else { // the last member has left: begin again\n", "		} else if false {\n"},
	}},

	// Placement, and what must not grow.
	{"placement that does not wait", "TestPlacementSettles", []edit{
		{"placement.go", "p.owners != nil && now-p.since < bucket.Instant(m.cfg.Settle)", "false"},
	}},
	{"who is lost stays remembered", "TestTurnover", []edit{
		{"join.go", "	maps.DeleteFunc(m.voter.lost, func(id string, _ uint64) bool { return id != \"\" && !m.list.Has(id) })\n", ""},
	}},
	{"who was acknowledged stays remembered", "TestTurnover", []edit{
		{"join.go", "	maps.DeleteFunc(m.voter.acked, func(_ Member, until bucket.Instant) bool { return until < now })\n", ""},
	}},
	{"timers stay remembered", "TestTurnover", []edit{
		{"join.go", "	maps.DeleteFunc(m.next, func(_ timer, at bucket.Instant) bool { return at < now })\n", ""},
	}},
}
