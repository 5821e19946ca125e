package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/drossel-dev/drossel/transport/door"
)

// Doors reads what was asked at the doors of a node each time it is scraped, with the name of the door as a label. What the process asks
// its node itself comes in by no door. It must not be changed once it is registered; its counts are safe for concurrent use.
type Doors map[string]*door.Counts

var (
	atDoor       = desc("door_checks_total", "Checks asked from outside, by door and by verdict: allowed, denied, or failed without one.", "door", "verdict")
	atDoorByRule = desc("door_checks_degraded_total", "Checks asked from outside that a failure rule decided, by door.", "door")
)

// Describe implements prometheus.Collector.
func (d Doors) Describe(out chan<- *prometheus.Desc) {
	out <- atDoor
	out <- atDoorByRule
}

// Collect implements prometheus.Collector.
func (d Doors) Collect(out chan<- prometheus.Metric) {
	for name, c := range d {
		s := c.Stats()
		for verdict, n := range map[string]uint64{"allowed": s.Allowed, "denied": s.Denied, "failed": s.Failed} {
			out <- prometheus.MustNewConstMetric(atDoor, prometheus.CounterValue, float64(n), name, verdict)
		}
		out <- prometheus.MustNewConstMetric(atDoorByRule, prometheus.CounterValue, float64(s.Degraded), name)
	}
}
