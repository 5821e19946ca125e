//go:build race

package sim

// defaultSeeds is small, for a run takes seven times as long.
const (
	defaultSeeds  = 2
	defaultFleets = 1
)

// raceDetector says whether this was built with it.
const raceDetector = true
