package ownership

import (
	"testing"
	"time"
)

// inherits has the machine be the heir of partition 0 of b, with a term that others know of, and wants it to ask for copies.
func (v *voting) inherits(term uint64) {
	v.t.Helper()
	v.hear("c", "d") // not yet e
	v.Receive(v.now, "c", &Inherit{Member{"b", 10}, []Heir{{0, term, v.self}}})
	asked := 0
	for _, e := range v.Take().Send {
		if _, ok := e.Message.(*CopiesOf); ok {
			asked++
		}
	}
	if asked != len(v.list.members)-1 {
		v.t.Errorf("%d of %d others are asked for copies", asked, len(v.list.members)-1)
	}
}

// keeps has a member say which snapshot of b's claim it keeps; 0: none.
func (v *voting) keeps(id string, seq uint64) {
	c := Copy{}
	if seq > 0 {
		c = Copy{0, Claim{Epoch{4, 10}, "b"}, seq}
	}
	v.Receive(v.now, id, &Copies{[]Copy{c}})
}

// does returns what the machine does now about taking over, if anything.
func (v *voting) does() (fetch *Fetch, mint *Mint) {
	for _, a := range v.Take().Acts {
		switch a := a.(type) {
		case *Fetch:
			fetch = a
		case *Mint:
			mint = a
		}
	}
	return fetch, mint
}

func (v *voting) wantFetch(from string, why string) {
	v.t.Helper()
	if fetch, mint := v.does(); mint != nil || fetch == nil && from != "" || fetch != nil && fetch.From != from {
		v.t.Errorf("%s: fetches %+v, mints %+v, want from %q", why, fetch, mint, from)
	}
}

func (v *voting) wantMint(term uint64, from Source, why string) {
	v.t.Helper()
	_, mint := v.does()
	if want := (Claim{Epoch{term, 10}, "a"}); mint == nil || mint.Claim != want || mint.From != from || mint.Lost.ID != "b" {
		v.t.Errorf("%s: mints %+v, want %v from %v", why, mint, want, from)
	}
	if h := v.parts[0].held; mint != nil && (h == nil || h.open) {
		v.t.Errorf("%s: it is open before anybody has acknowledged it", why)
	}
}

func TestHeirTakesTheFreshest(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d", "e")
	v.inherits(6)
	v.wantFetch("", "nobody has answered")
	v.keeps("c", 7)
	v.keeps("d", 9)
	v.keeps("d", 11) // what is said again says nothing
	v.wantFetch("", "e has not answered")
	v.keeps("e", 0)
	v.wantFetch("d", "all have answered but the lost one")
	c := Copy{0, Claim{Epoch{4, 10}, "b"}, 9}
	v.Fetched(v.now, 0, "d", c, true)
	v.wantMint(8, Kept, "by the highest term that is known")
}

func TestHeirHasACopy(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d", "e")
	v.parts[0].copy = Copy{0, Claim{Epoch{4, 10}, "b"}, 9}
	v.inherits(4)
	for _, id := range []string{"c", "d", "e"} {
		v.keeps(id, 8)
	}
	v.wantMint(6, Kept, "its own is the freshest")
}

func TestHeirWaitsForAWhile(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d", "e")
	v.inherits(4)
	v.keeps("c", 7)
	v.after(copiesTime)
	v.Tick(v.now)
	v.wantFetch("", "two may still answer")
	v.after(1)
	v.Tick(v.now)
	v.wantFetch("c", "they had their time")
	for range fetchAttempts {
		v.Fetched(v.now, 0, "c", Copy{}, false)
	}
	v.wantMint(6, Nothing, "what can't be had is done without")
}

func TestHeirWithoutACopy(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d", "e")
	v.inherits(4)
	for _, id := range []string{"c", "d", "e"} {
		v.keeps(id, 0)
	}
	v.after(noCopyTime)
	v.Tick(v.now)
	v.wantFetch("", "the lost one may have a copy")
	v.after(1)
	v.Tick(v.now)
	v.wantMint(6, Nothing, "nobody has")
}

// TestHeirIsTooLate: after a second others may have been named, and somebody may have claimed the partition meanwhile.
func TestHeirIsTooLate(t *testing.T) {
	for name, late := range map[string]func(v *voting){
		"a second": func(v *voting) { v.after(claimTime + 1); v.Tick(v.now) },
		"another":  func(v *voting) { v.Receive(v.now, "c", v.names(6)) },
		"unlisted": func(v *voting) { v.setList(v.now, v.list.With(Change{v.self, true})) },
	} {
		v := newVoting(t, "a", "b", "c", "d", "e")
		v.inherits(4)
		late(v)
		for _, id := range []string{"c", "d", "e"} {
			v.keeps(id, 7)
		}
		v.after(2 * time.Second)
		v.Tick(v.now)
		if fetch, mint := v.does(); fetch != nil || mint != nil || v.parts[0].held != nil {
			t.Errorf("%s: fetches %+v, mints %+v", name, fetch, mint)
		}
	}
}

// TestHeirHoldsALowerClaim: whoever was named while it decides by a claim that the lost one's had outbid takes over afresh.
// Else its copy would stay behind for ever, and who knows the higher claim would wait for its heir.
func TestHeirHoldsALowerClaim(t *testing.T) {
	for _, held := range []uint64{3, 4, 5} {
		v := newVoting(t, "a", "b", "c")
		v.claim(v.now, 0, Claim{Epoch{held, 10}, "a"}, Founded)
		v.parts[0].held.open = true
		v.Take()
		v.Receive(v.now, "c", &Inherit{Member{"b", 10}, []Heir{{0, 4, v.self}}})
		shuts := 0
		for _, act := range v.Take().Acts {
			if _, ok := act.(*Shut); ok {
				shuts++
			}
		}
		if lower := held < 4; (shuts == 1) != lower || (v.parts[0].held == nil) != lower || (v.parts[0].taking != nil) != lower {
			t.Errorf("held by %d, lost 4: %d shut, held %v, takes over: %v", held, shuts, v.parts[0].held, v.parts[0].taking != nil)
		}
		v.keeps("c", 9)
		if held < 4 {
			v.wantFetch("c", "its own copy is of a lower claim")
		}
	}
}

// TestHeirOfNothing: who is told so by mistake, or too late, does not take over.
func TestHeirOfNothing(t *testing.T) {
	for name, of := range map[string]struct {
		known Claim
		heir  Heir
	}{
		"another incarnation": {Claim{}, Heir{0, 4, Member{"a", 9}}},
		"a higher claim":      {Claim{Epoch{6, 10}, "c"}, Heir{0, 4, Member{"a", 10}}},
		"a later owner":       {Claim{Epoch{4, 11}, "b"}, Heir{0, 4, Member{"a", 10}}},
		"out of range":        {Claim{}, Heir{7, 4, Member{"a", 10}}},
	} {
		v := newVoting(t, "a", "b", "c")
		v.parts[0].known = of.known
		v.Receive(v.now, "c", &Inherit{Member{"b", 10}, []Heir{of.heir}})
		if v.parts[0].taking != nil {
			t.Errorf("%s: takes over", name)
		}
	}
}
