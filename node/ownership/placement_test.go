package ownership

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// placing is a machine that is a member of a list, as if it had just heard the others.
type placing struct {
	*Machine
	now   bucket.Instant
	calls int
}

func newPlacing(settle time.Duration, ids ...string) *placing {
	p := &placing{now: bucket.Instant(time.Hour)}
	place := placer(16)
	p.Machine = New(Config{
		Self: Member{ids[0], 1}, Partitions: 16, Settle: settle,
		Place: func(ids []string) []uint16 { p.calls++; return place(ids) },
	}, p.now)
	p.memory = true
	var members []Member
	for _, id := range ids {
		members = append(members, Member{id, 1})
	}
	p.setList(p.now, NewList(members...))
	p.hear(ids...)
	return p
}

// hear has members be heard now.
func (p *placing) hear(ids ...string) {
	for _, id := range ids {
		p.heard[id] = heard{at: p.now, spoke: p.now, incarnation: 1, state: Active, ever: true}
	}
}

// placedAfter says on whom partitions are placed some time later, with the members heard meanwhile.
func (p *placing) placedAfter(d time.Duration, heard ...string) string {
	p.now += bucket.Instant(d)
	p.hear(heard...)
	p.settle(p.now)
	return strings.Join(p.placed.ids, " ")
}

func TestPlacementSettles(t *testing.T) {
	p := newPlacing(time.Second, "a", "b", "c", "d")
	wants := []struct {
		after time.Duration
		heard string
		want  string
		why   string
	}{
		{0, "b c d", "a b c d", "the first placement does not wait"},
		{900 * ms, "b c", "a b c d", "a silent member is placed for a while"},
		{400 * ms, "b c", "a b c d", "a change waits: d is away now"},
		{900 * ms, "b c", "a b c d", "it still waits"},
		{50 * ms, "b c d", "a b c d", "and is forgotten if it was none"},
		{900 * ms, "c d", "a b c d", "so the next one waits as long again"},
		{400 * ms, "c d", "a b c d", "b is away now"},
		{900 * ms, "c", "a b c d", "it waits"},
		{400 * ms, "c", "a b c d", "another change: d is away too, the wait begins anew"},
		{900 * ms, "c", "a b c d", "it waits"},
		{100 * ms, "c", "a c", "both at once"},
		{50 * ms, "b c", "a c", "who is back waits as well"},
		{time.Second, "b c", "a b c", "and is placed"},
	}
	for i, w := range wants {
		if got := p.placedAfter(w.after, strings.Fields(w.heard)...); got != w.want {
			t.Errorf("step %d, %s: placed on %q, want %q", i, w.why, got, w.want)
		}
	}
	for part := range p.parts {
		if want := p.placed.ids[placer(16)(p.placed.ids)[part]]; p.placed.owner(part) != want {
			t.Errorf("partition %d is placed on %q, want %q", part, p.placed.owner(part), want)
		}
	}
}

func TestPlacementOfThoseWhoLeave(t *testing.T) {
	p := newPlacing(0, "a", "b")
	p.settle(p.now)
	p.heard["b"] = heard{at: p.now, spoke: p.now, incarnation: 1, state: Leaving, ever: true}
	if got := p.placedAfter(ms); got != "a" {
		t.Errorf("placed on %q when b leaves", got)
	}
	p.leaving = true
	if got := p.placedAfter(ms); got != "a" {
		t.Errorf("placed on %q when there is nobody left, want it as it was", got)
	}
	p.hear("b")
	if got := p.placedAfter(ms); got != "b" {
		t.Errorf("placed on %q when a leaves", got)
	}
}

func TestPlacementThatFails(t *testing.T) {
	p := newPlacing(0, "a", "b")
	p.settle(p.now)
	p.cfg.Place = func([]string) []uint16 { return nil }
	if got := p.placedAfter(5 * time.Second); got != "a b" {
		t.Errorf("placed on %q when a alone can't be, want it as it was", got)
	}
}

// TestPlacementsAreRemembered: the same members are placed once, and what is remembered is bounded.
func TestPlacementsAreRemembered(t *testing.T) {
	p := newPlacing(0, "a", "b")
	for range 3 {
		p.place([]string{"a", "b"})
	}
	if p.calls != 1 {
		t.Errorf("placed %d times", p.calls)
	}
	for i := range 3 * maxPlacements {
		ids := []string{"a", name(i)}
		if got, want := p.place(ids), placer(16)(ids); !slices.Equal(got, want) {
			t.Errorf("%v are placed as %v, want %v", ids, got, want)
		}
		if len(p.caches) > maxPlacements {
			t.Fatalf("%d placements are remembered", len(p.caches))
		}
	}
	if p.place(nil) != nil {
		t.Error("nobody is placed")
	}
}
