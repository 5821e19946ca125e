package lease

import "slices"

// maxMin divides a rate among demands: nobody gets more than he asks for, and what he leaves is shared equally by those
// who ask for more. It returns what one of the demands, of, gets. demands is sorted in place.
func maxMin(rate float64, demands []float64, of float64) (gets float64) {
	slices.Sort(demands)
	for i, d := range demands {
		gets = min(d, rate/float64(len(demands)-i))
		if d >= of {
			return gets
		}
		rate -= gets
	}
	return gets
}
