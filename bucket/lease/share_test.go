package lease

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMaxMin(t *testing.T) {
	tests := []struct {
		name    string
		rate    float64
		demands []float64
		of      float64
		want    float64
	}{
		{"alone below the rate", 100, []float64{60}, 60, 60},
		{"alone above the rate", 100, []float64{300}, 300, 100},
		{"all below", 100, []float64{20, 30, 40}, 40, 40},
		{"equal above", 90, []float64{50, 50, 50}, 50, 30},
		{"a small one is served in full", 100, []float64{1000, 10}, 10, 10},
		{"and the large one gets the rest", 100, []float64{1000, 10}, 1000, 90},
		{"what small ones leave is shared", 100, []float64{500, 10, 400, 20}, 400, 35},
		{"no rate", 0, []float64{5, 6}, 6, 0},
		{"no demand", 100, []float64{0, 7}, 0, 0},
	}
	for _, tt := range tests {
		if got := maxMin(tt.rate, slices.Clone(tt.demands), tt.of); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v of %v at %v gets %v, want %v", tt.name, tt.of, tt.demands, tt.rate, got, tt.want)
		}
	}
}

// TestMaxMinDividesTheRate: the shares never come to more than the rate, nor to less while somebody wants more, and
// nobody gets less than an equal part but who wants less.
func TestMaxMinDividesTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		demands := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, MaxRequesters).Draw(t, "demands")
		rate := rapid.Float64Range(0, 1e6).Draw(t, "rate")
		total, given, least := 0.0, 0.0, rate/float64(len(demands))
		for _, d := range demands {
			gets := maxMin(rate, slices.Clone(demands), d)
			if gets > d || gets < min(d, least)*(1-1e-9) {
				t.Fatalf("%v of %v at %v gets %v", d, demands, rate, gets)
			}
			given, total = given+gets, total+d
		}
		if math.Abs(given-min(rate, total)) > 1e-9*rate {
			t.Fatalf("%v at %v get %v in all", demands, rate, given)
		}
	})
}
