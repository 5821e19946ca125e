//go:build !race

package sim

const (
	defaultSeeds  = 20
	defaultFleets = 20
	raceDetector  = false
)
