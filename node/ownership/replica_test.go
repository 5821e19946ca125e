package ownership

import "testing"

// newCopied is a machine that holds partition 0, and who gets its copies: its successor, and who is next when that is gone.
func newCopied(t *testing.T) (v *voting, claim Claim, first, next string) {
	v = newVoting(t, "a", "b", "c")
	v.hear("b", "c")
	claim = v.holds(4)
	first = v.successor()
	next = map[string]string{"b": "c", "c": "b"}[first]
	return v, claim, first, next
}

// successor is who gets the copies of partition 0.
func (v *voting) successor() string {
	ids, owners := v.Successors(v.now)
	return ids[owners[0]]
}

// dueNow is the snapshot of partition 0 that is due now; the zero one if there is none.
func (v *voting) dueNow(changed bool) Snapshot {
	s, ok := v.Snapshot(v.now, 0, v.successor(), changed)
	if !ok {
		return Snapshot{}
	}
	return s
}

// saysElsewhere returns what the next heartbeat says to a member about its copy of partition 0.
func (v *voting) saysElsewhere(to string) bool { return v.claimsTo(to, v.claims(v.now))[0].Elsewhere }

func TestSnapshots(t *testing.T) {
	v, claim, first, _ := newCopied(t)
	s := v.dueNow(false)
	if want := (Snapshot{To: first, Keeper: 10, Partition: 0, Claim: claim, Seq: 1, Beat: v.seq}); s != want {
		t.Fatalf("the first snapshot is %+v, want %+v", s, want)
	}
	v.Snapshotted(v.now, s)
	if got := v.dueNow(false); got != (Snapshot{}) {
		t.Errorf("nothing has changed, and %+v is due", got)
	}
	s = v.dueNow(true)
	if s.Seq != 2 || s.Base != 1 {
		t.Errorf("something has changed, and %+v is due", s)
	}
	if s = v.dueNow(true); s.Seq != 3 || s.Base != 1 {
		t.Errorf("the last one was not confirmed, and %+v is due", s)
	}
	v.Missed(s)
	if s = v.dueNow(true); s.Base != 0 {
		t.Errorf("the receiver has nothing to build on, and %+v is due", s)
	}
	v.Snapshotted(v.now, s)
	h := v.heard[first]
	h.incarnation++
	v.heard[first] = h
	if s = v.dueNow(false); s.Base != 0 || s.Keeper != 11 {
		t.Errorf("who has the copy has started again, and %+v is due", s)
	}
}

// TestSaysWhereCopiesAre: a member is told that its copy is not needed only while another has confirmed a newer one, and no
// snapshot is on its way to it.
func TestSaysWhereCopiesAre(t *testing.T) {
	v, _, first, next := newCopied(t)
	s := v.dueNow(true)
	if v.saysElsewhere(next) || v.saysElsewhere(first) {
		t.Error("it says so before anybody has confirmed a copy")
	}
	v.Snapshotted(v.now, s)
	if !v.saysElsewhere(next) || v.saysElsewhere(first) {
		t.Error("it does not say so to the other, or says so to who has it")
	}
	h := v.heard[first]
	h.state = Leaving
	v.heard[first] = h
	if s = v.dueNow(true); s.To != next {
		t.Fatalf("%s leaves, and %+v is due", first, s)
	}
	if v.saysElsewhere(next) || v.saysElsewhere(first) {
		t.Error("it says so to one to whom a copy is on its way, or to the only one who has confirmed one")
	}
	v.Snapshotted(v.now, s)
	if v.saysElsewhere(next) || !v.saysElsewhere(first) {
		t.Error("it does not say so to who had it before")
	}
	h = v.heard[next]
	h.incarnation++
	v.heard[next] = h
	if v.saysElsewhere(first) {
		t.Error("it says so though who had the newer copy has started again")
	}
}

// TestSnapshotsToWhoAnswers: who does not confirm is passed over for a while.
func TestSnapshotsToWhoAnswers(t *testing.T) {
	v, _, first, next := newCopied(t)
	v.dueNow(true)
	v.after(replicaPatience)
	v.hear("b", "c")
	if s := v.dueNow(true); s.To != first {
		t.Errorf("%s is passed over at once for %q", first, s.To)
	}
	v.after(1)
	s := v.dueNow(true)
	if s.To != next {
		t.Errorf("%s says nothing, and %+v is due", first, s)
	}
	v.Snapshotted(v.now, s)
	v.after(4 * replicaPatience)
	v.hear("b", "c")
	if s = v.dueNow(true); s.To != first {
		t.Errorf("%s may answer again, and %+v is due", first, s)
	}
}

func TestAccepts(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	claim := Claim{Epoch{4, 10}, "b"}
	snapshot := func(c Claim, seq, base uint64) Snapshot { return Snapshot{To: "a", Claim: c, Seq: seq, Base: base} }
	steps := []struct {
		s    Snapshot
		want bool
		why  string
	}{
		{snapshot(claim, 3, 2), false, "there is nothing to build on"},
		{snapshot(claim, 3, 0), true, "all of it"},
		{snapshot(claim, 3, 0), false, "the same again"},
		{snapshot(claim, 2, 0), false, "an older one"},
		{snapshot(claim, 5, 4), false, "one is missing between"},
		{snapshot(claim, 5, 3), true, "the next"},
		{snapshot(claim, 6, 3), true, "one that builds on what was before the last"},
		{snapshot(Claim{Epoch{3, 10}, "c"}, 9, 0), false, "of a lower claim"},
		{snapshot(Claim{Epoch{5, 10}, "c"}, 7, 6), false, "of a higher claim, but not all of it"},
		{snapshot(Claim{Epoch{5, 10}, "c"}, 1, 0), true, "of a higher claim"},
	}
	for _, s := range steps {
		if got := v.Accepts(s.s); got != s.want {
			t.Errorf("%s: accepts it %v", s.why, got)
		}
		v.Keeps(s.s)
	}
	if c := v.Copy(0); c.Claim.Owner != "c" || c.Seq != 1 {
		t.Errorf("it keeps %+v", c)
	}
	v.says("c", v.lossOf("c", 5, "b"), (*Ack)(nil))
	v.after(exactly + 1)
	v.says("b", v.lossOf("c", 5, "b"), v.confirms("c", 5, "b"))
	if v.Accepts(snapshot(Claim{Epoch{5, 10}, "c"}, 2, 0)) {
		t.Error("it accepts a copy of an owner whose loss it has confirmed")
	}
	v.holds(7)
	if v.Accepts(snapshot(Claim{Epoch{8, 10}, "b"}, 1, 0)) {
		t.Error("it accepts a copy of what it holds itself")
	}
}
