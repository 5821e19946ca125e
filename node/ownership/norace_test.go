//go:build !race

package ownership

const raceDetector = false
