package ownership

import (
	"slices"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// holds makes the machine the holder of partition 0, by a claim that nobody has acknowledged yet.
func (v *voting) holds(term uint64) Claim {
	c := Claim{Epoch{term, v.self.Incarnation}, v.self.ID}
	v.act(&Mint{Partition: 0, Claim: c})
	v.claim(v.now, 0, c, Minted)
	v.Take()
	return c
}

// sends has the machine send a heartbeat, and returns its number.
func (v *voting) sends() uint64 {
	v.t.Helper()
	v.after(soonInterval)
	v.soon = true
	v.Tick(v.now)
	v.Take()
	return v.seq
}

// acked has a member acknowledge a heartbeat, and returns what the machine does about partition 0.
func (v *voting) acked(from string, incarnation, seq uint64, refused ...Held) (open, paused bool) {
	v.Receive(v.now, from, &Ack{incarnation, seq, refused})
	for _, a := range v.Take().Acts {
		switch a.(type) {
		case *Open:
			open = true
		case *Pause:
			paused = true
		}
	}
	return open, paused
}

func (v *voting) wantAuthority(until bucket.Instant, why string) {
	v.t.Helper()
	if v.Authority() != until {
		v.t.Errorf("%s: authority until %v, want %v", why, time.Duration(v.Authority()-v.now), time.Duration(until-v.now))
	}
}

func TestAuthority(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d", "e")
	v.holds(4)
	was := v.Authority()
	first := v.sends()
	sent := v.now
	v.after(20 * ms)
	v.acked("b", 10, first)
	v.acked("b", 10, first)
	v.acked("x", 10, first)
	v.acked("c", 9, first)
	v.acked("c", 10, first+7)
	v.wantAuthority(was, "two of five, one of them twice, and some who do not count")
	if v.parts[0].held.open {
		t.Error("it is open without a majority")
	}
	if open, _ := v.acked("c", 10, first); !open {
		t.Error("it is not opened by a majority")
	}
	v.wantAuthority(sent+bucket.Instant(Fence(5)), "from when the heartbeat was sent")

	second := v.sends()
	later := v.now
	v.acked("d", 10, second)
	v.acked("e", 10, second)
	v.wantAuthority(later+bucket.Instant(Fence(5)), "the next one")
	v.acked("d", 10, first)
	v.wantAuthority(later+bucket.Instant(Fence(5)), "a late acknowledgement")
}

// TestAuthorityOfAPartition: one that some refuse is not decided for longer than a majority has said, though the node is.
func TestAuthorityOfAPartition(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d", "e")
	v.holds(4)
	seq := v.sends()
	v.acked("b", 10, seq)
	v.acked("c", 10, seq)
	none := Held{Partition: 0} // another heir has time to claim
	seq = v.sends()
	v.acked("b", 10, seq)
	if _, paused := v.acked("c", 10, seq, none); !paused {
		t.Error("it is not paused though two of five acknowledge it")
	}
	if open, _ := v.acked("d", 10, seq); !open {
		t.Error("it is not opened again when three do")
	}
	seq = v.sends()
	for _, id := range []string{"b", "c", "d"} {
		v.acked(id, 10, seq, none)
	}
	if v.self.Incarnation != 11 || v.parts[0].held != nil {
		t.Errorf("%v goes on though a majority refuses what it claims", v.self)
	}
}

// TestAuthorityWaits: who is told to wait is not refused, and not acknowledged either.
func TestAuthorityWaits(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d", "e")
	own := Held{0, v.holds(4)}
	seq := v.sends()
	for _, id := range []string{"b", "c", "d", "e"} {
		if open, _ := v.acked(id, 10, seq, own); open || v.self.Incarnation != 10 || v.parts[0].held == nil {
			t.Fatalf("told to wait, it is opened: %v, goes on as %v", open, v.self)
		}
	}
	v.wantAuthority(v.now+bucket.Instant(Fence(5)), "for what else it holds")
	seq = v.sends()
	v.acked("b", 10, seq)
	if open, _ := v.acked("c", 10, seq); !open {
		t.Error("it is not opened when it need not wait any more")
	}
}

// TestAuthorityWhileQuiet: who has come back does not even acknowledge itself at first.
func TestAuthorityWhileQuiet(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.born, v.returned = v.now, true
	was := v.Authority()
	seq := v.sends()
	v.acked("b", 10, seq)
	v.wantAuthority(was, "one of three, and itself")
	v.acked("c", 10, seq)
	v.wantAuthority(v.now+bucket.Instant(Fence(3)), "both others")
	v.after(exactly)
	seq = v.sends()
	v.acked("b", 10, seq)
	v.wantAuthority(v.now+bucket.Instant(Fence(3)), "one of three, and itself, later")
}

// TestAuthorityIsOfOneIncarnation: what the former one was acknowledged gives the next one nothing.
func TestAuthorityIsOfOneIncarnation(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.holds(4)
	seq := v.sends()
	v.renew(v.now, "of a test")
	c := v.holds(6)
	v.acked("b", 10, seq)
	v.wantAuthority(v.now, "acknowledged as what it was")
	if v.parts[0].held.open {
		t.Errorf("%v is open", c)
	}
	if slices.ContainsFunc(v.beats, func(b beat) bool { return b.seq <= seq }) {
		t.Error("heartbeats of the former incarnation are remembered")
	}
}

// TestLostMe: who is told that its loss was confirmed goes on as another once its authority is over, or once what it claims has
// not been acknowledged for long.
func TestLostMe(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.holds(4)
	seq := v.sends()
	v.acked("b", 10, seq)
	tell := func(incarnation uint64) uint64 {
		v.Receive(v.now, "c", &LostYou{incarnation})
		return v.self.Incarnation
	}
	if tell(10) != 10 {
		t.Error("it ends though it has authority")
	}
	v.now = v.Authority()
	if tell(10) != 10 {
		t.Error("it ends in the last moment of its authority")
	}
	v.after(1)
	if tell(9) != 10 {
		t.Error("it ends because of what it was before")
	}
	if tell(10) != 11 || v.parts[0].held != nil {
		t.Error("it does not end")
	}

	v.holds(6)
	for range 3 {
		seq = v.sends()
		v.acked("b", 11, seq, Held{Partition: 0})
		if tell(11) != 11 {
			t.Error("it ends though it has authority")
		}
		v.after(300 * ms)
	}
	v.after(200 * ms)
	seq = v.sends()
	v.acked("b", 11, seq, Held{Partition: 0})
	if tell(11) != 12 {
		t.Error("it does not end though what it claims is refused for long")
	}
}

// TestOutbid: who hears of a higher claim than its own gives the partition up; a lower one says nothing.
func TestOutbid(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	own := v.holds(4)
	for _, c := range []Claim{{Epoch{3, 99}, "b"}, {Epoch{4, 9}, "c"}, {Epoch{4, 10}, ""}, own} {
		v.Receive(v.now, "b", &Owners{[]Held{{0, c}}})
		if v.parts[0].held == nil || v.parts[0].known != own {
			t.Fatalf("%v is given up for %v", own, c)
		}
	}
	v.Receive(v.now, "c", v.names(4)) // equal terms: c is higher than a
	if acts := v.Take().Acts; v.parts[0].held != nil || len(acts) != 1 || *acts[0].(*Shut) != (Shut{0}) {
		t.Errorf("%v is held against a higher claim, or given up by %v", own, acts)
	}
	if owner, _ := v.Decider(v.now, 0); owner != "c" {
		t.Errorf("%q decides", owner)
	}
}

// TestAuthorityComesLate: an acknowledgement of an older heartbeat does not open a partition for as long as a newer one, which
// others have refused it, gives authority for the rest.
func TestAuthorityComesLate(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d", "e")
	v.holds(6)
	first := v.sends()
	v.acked("b", 10, first)
	v.after(300 * ms)
	none := Held{Partition: 0}
	second := v.sends()
	v.acked("d", 10, second, none)
	v.acked("e", 10, second, none)
	v.after(90 * ms)
	if open, _ := v.acked("c", 10, first); open || v.parts[0].held.open {
		t.Error("it is decided for as long as the second heartbeat gives authority")
	}
	third := v.sends()
	v.acked("b", 10, third)
	if open, _ := v.acked("c", 10, third); !open {
		t.Error("it is not opened when it is acknowledged again")
	}
}
