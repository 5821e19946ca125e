package ring_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/drossel-dev/drossel/ring"
)

// movement is what ten random clusters of one size showed.
type movement struct {
	most, least                        float64 // the largest and smallest member of all, as multiples of the average
	joined, strayJoin, left, strayLeft float64 // share of partitions that changed owner, mean
}

func measure(t *testing.T, size int) movement {
	const sets = 10
	random := rand.New(rand.NewPCG(uint64(size), 1021))
	m := movement{least: 1}
	for range sets {
		names := make([]string, size+1)
		for i := range names {
			names[i] = fmt.Sprintf("node-%08x", random.Uint32())
		}
		all, first := members(names), members(names[:size])
		b := builder(t, ring.Params{})
		r := place(t, b, first)
		average := float64(r.Partitions()) / float64(size)
		m.most = max(m.most, float64(slices.Max(r.Counts()))/average)
		m.least = min(m.least, float64(slices.Min(r.Counts()))/average)

		with := place(t, b, all)
		moved, stray := moves(r, with, names[size])
		m.joined, m.strayJoin = m.joined+moved/sets, m.strayJoin+stray/sets

		gone := random.IntN(size + 1)
		without := place(t, b, slices.Delete(slices.Clone(all), gone, gone+1))
		moved, stray = moves(with, without, names[gone])
		m.left, m.strayLeft = m.left+moved/sets, m.strayLeft+stray/sets
	}
	return m
}

// moves returns the share of partitions whose owner differs, and of those that neither came from nor went to the
// member.
func moves(from, to *ring.Ring, member string) (moved, stray float64) {
	before, after := owners(from), owners(to)
	for partition := range before {
		if before[partition] == after[partition] {
			continue
		}
		moved++
		if before[partition] != member && after[partition] != member {
			stray++
		}
	}
	return moved / float64(len(before)), stray / float64(len(before))
}

// The bounds are a little above what DESIGN.md records.
func TestMovement(t *testing.T) {
	t.Log("| N | max/avg | min/avg | join moved (ideal) | of it stray | leave moved (ideal) | of it stray |")
	for _, bound := range movementBounds {
		m, ideal := measure(t, bound.size), 100/float64(bound.size+1)
		t.Logf("| %d | %.2f | %.2f | %.1f %% (%.1f) | %.1f %% | %.1f %% (%.1f) | %.1f %% |", bound.size, m.most, m.least,
			100*m.joined, ideal, 100*m.strayJoin, 100*m.left, ideal, 100*m.strayLeft)
		if m.most > bound.most || m.least < bound.least || 100*m.joined > bound.joined || 100*m.left > bound.left ||
			100*m.strayJoin > bound.stray || 100*m.strayLeft > bound.stray {
			t.Errorf("N=%d: got %+v, want within %+v", bound.size, m, bound)
		}
	}
}

var movementBounds = []struct {
	size                             int
	most, least, joined, left, stray float64 // shares in percent
}{
	{3, 1.20, 0.80, 26.5, 26.5, 0.1},
	{5, 1.25, 0.74, 17.5, 17.5, 0.2},
	{10, 1.26, 0.70, 10.5, 10.5, 0.5},
	{50, 1.28, 0.35, 2.7, 2.7, 0.7},
}
