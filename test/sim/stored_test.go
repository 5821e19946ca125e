package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/node"
)

// disk is what a node has on disk, and its next process finds.
type disk struct {
	mu      sync.Mutex
	entries map[bucket.ID]table.Entry
}

func (d *disk) Editions() ([]node.Edition, error) { return nil, nil }
func (d *disk) KeepEdition(node.Edition) error    { return nil }
func (d *disk) KeepEntries(all []table.Entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.keep(all)
}

func (d *disk) keep(all []table.Entry) error {
	if d.entries == nil {
		d.entries = make(map[bucket.ID]table.Entry)
	}
	for _, e := range all {
		if e.Number > d.entries[e.ID].Number {
			d.entries[e.ID] = e
		}
	}
	return nil
}

// ForgetEntries forgets those that are kept with these numbers.
func (d *disk) ForgetEntries(all []table.Entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range all {
		if d.entries[e.ID].Number == e.Number {
			delete(d.entries, e.ID)
		}
	}
	return nil
}

func (d *disk) Entries(after bucket.ID, most int) ([]table.Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	order := func(a, b bucket.ID) int { return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo)) }
	all := slices.Collect(maps.Values(d.entries))
	all = slices.DeleteFunc(all, func(e table.Entry) bool { return order(e.ID, after) <= 0 })
	slices.SortFunc(all, func(a, b table.Entry) int { return order(a.ID, b.ID) })
	return all[:min(most, len(all))], nil
}

// stored is what a fleet knows of the limits store: for each group what was set last, as far as that is known.
type stored struct {
	tries int
	last  map[*fleetGroup]storedKey
	sets  int
}

type storedKey struct {
	policy.KeyResult
	text string
}

// storedText are the limits of a group, or lower ones, and another text each time.
func (g *fleetGroup) storedText(lower bool, number int) string {
	var all []string
	for i, l := range g.limits {
		if lower {
			l.Count, l.Burst = max(1, l.Count/2), max(1, l.Burst/2)
		}
		all = append(all, fmt.Sprintf("{name: l%d, rate: %s, burst: %d}", i, policy.FormatRate(l), l.Burst))
	}
	return fmt.Sprintf("{limits: [%s]} # %d", strings.Join(all, ", "), number)
}

// judgeStored says which limits that were set, and kept, are not there any more, or are others somewhere.
func (f *fleet) judgeStored() {
	f.t.Helper()
	for g, want := range f.stored.last {
		for _, m := range f.living() {
			k, at, err := m.Limits(context.Background(), policy.KeyLimits{Policy: g.policy, Parts: []string{g.key}})
			switch {
			case err != nil:
				f.t.Errorf("%s: limits of %s/%s: %v", m.name, g.policy, g.key, err)
			case at.Number < want.Number || at.Number == want.Number && k.Text != want.text:
				f.t.Errorf("%s: %s/%s has %d %s, but had %d %s: %+v", m.name, g.policy, g.key, at.Number, k.Text, want.Number, want.text, want.KeyResult)
			}
		}
	}
}
