package bench

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// quantile returns the smallest value that at least the part q of all values do not exceed (nearest rank). There must
// be a value.
func quantile[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

func median(values []float64) float64 { return quantile(values, 0.5) }

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		values []int
		q      float64
		want   int
	}{
		{[]int{7}, 0.5, 7},
		{[]int{7}, 0.99, 7},
		{[]int{3, 1, 2}, 0.5, 2},
		{[]int{4, 3, 1, 2}, 0.5, 2},
		{[]int{4, 3, 1, 2}, 0.75, 3},
		{[]int{4, 3, 1, 2}, 0.99, 4},
		{[]int{4, 3, 1, 2}, 0, 1},
	} {
		before := slices.Clone(c.values)
		if got := quantile(c.values, c.q); got != c.want || !slices.Equal(c.values, before) {
			t.Errorf("quantile(%v, %v) = %d and left %v, want %d", before, c.q, got, c.values, c.want)
		}
	}
}
