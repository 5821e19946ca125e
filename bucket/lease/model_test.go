package lease

import (
	"flag"
	"math"
	"testing"
	"time"
)

var deep = flag.Bool("lease.deep", false, "TestModel: explore the large sets of rules too: long, with much memory")

const (
	mostBriefly = 10_000     // worlds of a set with the race detector, or with -short
	mostDeep    = 10_000_000 // worlds of a large set
)

// TestModel explores the real machines in every order of events: nothing is ever admitted beyond the limit, and the
// invariants hold at each moment.
func TestModel(t *testing.T) {
	for _, r := range sets {
		t.Run(r.name, func(t *testing.T) {
			if r.deep && !*deep {
				t.Skip("large: run with -lease.deep")
			}
			most := math.MaxInt
			switch {
			case raceDetector || testing.Short():
				most = mostBriefly
			case r.deep:
				most = mostDeep
			}
			began := time.Now()
			e, complete, trace := explore(&r, most)
			if trace != "" {
				t.Fatalf("broken:\n%s", trace)
			}
			if !complete && most == math.MaxInt {
				t.Error("not all was explored")
			}
			took := time.Since(began).Seconds()
			t.Logf("%d worlds, %d moves, complete %v, %.1f s: %v", len(e.by), e.tried, complete, took, &r)
		})
	}
}
