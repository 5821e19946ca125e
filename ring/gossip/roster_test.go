package gossip

import (
	"slices"
	"testing"

	"github.com/drossel-dev/drossel/ring"
)

func TestRoster(t *testing.T) {
	member := func(id string, boot uint64, state ring.State) ring.Member {
		return ring.Member{ID: id, Boot: boot, Peer: "h:1", State: state}
	}
	r := newRoster(member("m", 5, ring.Joining))
	for _, step := range []struct {
		name    string
		do      func() bool
		changed bool
		want    []string
	}{
		{"alone", func() bool { return false }, false, []string{"m/5 joining"}},
		{"itself", func() bool { return r.put(member("m", 5, ring.Active)) }, false, []string{"m/5 joining"}},
		{"its former self", func() bool { return r.put(member("m", 4, ring.Active)) }, false, []string{"m/5 joining"}},
		{"its state", func() bool { r.setState(ring.Active); return false }, true, []string{"m/5 active"}},
		{"the same state", func() bool { r.setState(ring.Active); return false }, false, []string{"m/5 active"}},
		{"another", func() bool { return r.put(member("b", 2, ring.Active)) }, true, []string{"b/2 active", "m/5 active"}},
		{"it again", func() bool { return r.put(member("b", 2, ring.Active)) }, false, []string{"b/2 active", "m/5 active"}},
		{"an older boot", func() bool { return r.put(member("b", 1, ring.Joining)) }, false,
			[]string{"b/2 active", "m/5 active"}},
		{"its state", func() bool { return r.put(member("b", 2, ring.Leaving)) }, true,
			[]string{"b/2 leaving", "m/5 active"}},
		{"a newer boot", func() bool { return r.put(member("b", 3, ring.Joining)) }, true,
			[]string{"b/3 joining", "m/5 active"}},
		{"the older one dies", func() bool { r.drop(member("b", 2, ring.Leaving)); return false }, false,
			[]string{"b/3 joining", "m/5 active"}},
		{"a stranger dies", func() bool { r.drop(member("z", 1, ring.Active)); return false }, false,
			[]string{"b/3 joining", "m/5 active"}},
		{"a newer process of its id", func() bool { return !r.put(member("m", 6, ring.Active)) }, true,
			[]string{"b/3 joining", "m/6 active"}},
		{"itself is found dead", func() bool { r.drop(member("m", 5, ring.Active)); return false }, false,
			[]string{"b/3 joining", "m/6 active"}},
		{"the newer goes", func() bool { r.drop(member("m", 6, ring.Active)); return false }, true,
			[]string{"b/3 joining", "m/5 active"}},
		{"the other goes", func() bool { r.drop(member("b", 3, ring.Active)); return false }, true, []string{"m/5 active"}},
	} {
		if step.do() {
			t.Errorf("%s: whether it takes this node's id is told wrongly", step.name)
		}
		changed := false
		select {
		case <-r.changes:
			changed = true
		default:
		}
		var got []string
		for _, m := range r.list() {
			got = append(got, name(m)+" "+m.State.String())
		}
		if !slices.Equal(got, step.want) || changed != step.changed {
			t.Errorf("%s: %q, changed %v, want %q, %v", step.name, got, changed, step.want, step.changed)
		}
	}
}

func TestChangesNobodyLooksAtAreOne(t *testing.T) {
	r := newRoster(ring.Member{ID: "a"})
	for boot := range uint64(1000) {
		r.put(ring.Member{ID: "b", Boot: boot + 1})
	}
	<-r.changes
	select {
	case <-r.changes:
		t.Error("a second signal waits")
	default:
	}
}
