package ownership

import (
	"reflect"
	"strings"
	"testing"
)

// TestTurnover has many nodes come and go, some by crashing, while two stay. What machines know must not grow with how many
// there ever were.
func TestTurnover(t *testing.T) {
	turns := maxRemovals + 20
	if *runsFlag > 0 {
		turns = 1000
	}
	w := newWorld(worldConfig{
		seed: 1, partitions: 4, capacity: 50, rate: 50, load: 0.2, least: ms / 5, most: 2 * ms, drift: 0.01,
		unreachable: "deny", forget: 2 * sec,
	})
	w.boot(3)
	var early map[string]int
	for i := range turns {
		goes, comes := name(2+i), name(3+i)
		w.start(comes)
		if !w.runUntil(5*sec, func() bool { return w.unsettled() == "" }) {
			t.Fatalf("turn %d: %s", i, w.unsettled())
		}
		if i%4 == 3 {
			w.crash(goes)
		} else {
			w.leave(goes)
		}
		gone := func() bool { return !w.hosts[goes].alive && w.unsettled() == "" && !w.hosts[name(0)].m.list.Has(goes) }
		if !w.runUntil(10*sec, gone) {
			t.Fatalf("turn %d: %s is not gone: %s", i, goes, w.unsettled())
		}
		w.forget(goes)
		if i == 30 {
			early = w.sizes()
		}
	}
	late := w.sizes()
	for path, n := range late {
		limit := early[path] + early[path]/2 + 8
		if strings.HasPrefix(path, ".list.") {
			limit = maxRemovals + 3
		}
		if n > limit {
			t.Errorf("%s has %d entries after %d turns, and had %d after 30", path, n, turns, early[path])
		}
	}
	if late[".list.removed"] != maxRemovals || late[".voter.given"] != w.cfg.partitions {
		t.Errorf("sizes are not those that are meant: %v", late)
	}
	if w.wrong != "" {
		t.Error(w.wrong)
	}
}

// sizes returns how many entries the maps and slices of machines have, of each the most that a machine has.
func (w *world) sizes() map[string]int {
	all := make(map[string]int)
	for _, id := range w.living() {
		sum := make(map[string]int)
		count(reflect.ValueOf(w.hosts[id].m).Elem(), "", sum)
		for path, n := range sum {
			all[path] = max(all[path], n)
		}
	}
	return all
}

// count adds up the entries of what is below a value, by its path.
func count(v reflect.Value, path string, sum map[string]int) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			count(v.Elem(), path, sum)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			count(v.Field(i), path+"."+v.Type().Field(i).Name, sum)
		}
	case reflect.Slice:
		sum[path] += v.Len()
		for i := range v.Len() {
			count(v.Index(i), path, sum)
		}
	case reflect.Map:
		sum[path] += v.Len()
		for entries := v.MapRange(); entries.Next(); {
			count(entries.Value(), path, sum)
		}
	}
}
