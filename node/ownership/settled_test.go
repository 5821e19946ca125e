package ownership

import (
	"fmt"
	"slices"
	"strings"
)

// ownerOf returns who holds a partition.
func (w *world) ownerOf(part int) string {
	for _, id := range w.ids {
		h := w.hosts[id]
		if p := h.m.parts[part]; h.alive && p.held != nil && !p.held.frozen {
			return id
		}
	}
	return w.living()[0]
}

// heirOf returns who should have a partition next if its owner is lost.
func (w *world) heirOf(part int) (owner, heir string, ok bool) {
	owner = w.ownerOf(part)
	h := w.hosts[owner]
	ids, owners := h.m.without(h.m.live(h.time()), owner)
	if owners == nil {
		return owner, "", false
	}
	return owner, ids[owners[part]], true
}

// threeOf returns also one who is neither.
func (w *world) threeOf(part int) (owner, heir, third string) {
	owner, heir, _ = w.heirOf(part)
	return owner, heir, w.ids[slices.IndexFunc(w.ids, func(id string) bool { return id != owner && id != heir })]
}

// firstOf returns who would own a partition in the ring without some.
func (w *world) firstOf(part int, without ...string) string {
	ids := slices.DeleteFunc(w.living(), func(id string) bool { return slices.Contains(without, id) })
	return ids[placer(w.cfg.partitions)(ids)[part]]
}

func (w *world) deciders(part int) (all []*host) {
	for _, id := range w.ids {
		if h := w.hosts[id]; h.alive && !h.paused && h.decides(part) {
			all = append(all, h)
		}
	}
	return all
}

// unsettled says what is not as it should be once all faults are over.
func (w *world) unsettled() string {
	var bad []string
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	digest := uint64(0)
	for _, id := range w.living() {
		h := w.hosts[id]
		if h.leaving {
			say("%s is still leaving", id)
			continue
		}
		if !h.m.Member() {
			say("%s is no member (joined %v, memory %v)", id, h.m.joined, h.m.memory)
			continue
		}
		if digest == 0 {
			digest = h.m.list.digest
		}
		if h.m.list.digest != digest {
			say("%s has another list: %v", id, h.m.list.members)
		}
		for part := range h.m.parts {
			if held := h.m.parts[part].held; held != nil && held.frozen {
				say("%d is frozen at %s for %v", part, id, held.to)
			}
			if len(h.debts[part]) > 0 {
				say("%s owes on %d", id, part)
			}
		}
	}
	for part := range w.cfg.partitions {
		if n := len(w.deciders(part)); n != 1 {
			say("%d has %d owners", part, n)
		}
	}
	return strings.Join(bad, "; ")
}

// hopeless says that so many members are dead or without memory that there is no majority, by anybody's list: then nothing
// is promised but that every check is answered.
func (w *world) hopeless() bool {
	for _, id := range w.living() {
		list := w.hosts[id].m.list
		remember := 0
		for _, member := range list.members {
			if h := w.hosts[member]; h != nil && h.alive && h.m.memory {
				remember++
			}
		}
		if remember >= list.Majority() {
			return false
		}
	}
	return true
}
