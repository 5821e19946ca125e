package e2e

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// maxTree has numbers by place, to ranges of which something is added, and knows the largest.
type maxTree struct {
	size       int
	most, lazy []float64
}

func newMaxTree(n int) *maxTree {
	size := 1
	for size < n {
		size *= 2
	}
	return &maxTree{size, make([]float64, 2*size), make([]float64, 2*size)}
}

// add adds to the numbers from one place up to another.
func (t *maxTree) add(from, to int, v float64) { t.addIn(1, 0, t.size, from, to, v) }

func (t *maxTree) addIn(i, low, high, from, to int, v float64) {
	switch {
	case to <= low || high <= from:
	case from <= low && high <= to:
		t.most[i] += v
		t.lazy[i] += v
	default:
		mid := (low + high) / 2
		t.addIn(2*i, low, mid, from, to, v)
		t.addIn(2*i+1, mid, high, from, to, v)
		t.most[i] = t.lazy[i] + max(t.most[2*i], t.most[2*i+1])
	}
}

// max is the largest of the numbers at the first so many places.
func (t *maxTree) max(to int) float64 { return t.maxIn(1, 0, t.size, to) }

func (t *maxTree) maxIn(i, low, high, to int) float64 {
	switch {
	case to <= low:
		return math.Inf(-1)
	case high <= to:
		return t.most[i]
	}
	mid := (low + high) / 2
	return t.lazy[i] + max(t.maxIn(2*i, low, mid, to), t.maxIn(2*i+1, mid, high, to))
}

func TestMaxTree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n := 1 + r.IntN(40)
		tree, plain := newMaxTree(n), make([]float64, newMaxTree(n).size)
		for range 50 {
			from := r.IntN(n)
			to, v := from+1+r.IntN(n-from), float64(r.IntN(20)-10)
			tree.add(from, to, v)
			for i := range plain {
				if from <= i && i < to {
					plain[i] += v
				}
			}
			first := 1 + r.IntN(n)
			if got, want := tree.max(first), slices.Max(plain[:first]); got != want {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	}
}
