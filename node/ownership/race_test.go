//go:build race

package ownership

const raceDetector = true
