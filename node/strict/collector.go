package strict

import "github.com/prometheus/client_golang/prometheus"

var (
	failures = prometheus.NewDesc("drossel_redis_errors_total", "Calls of Redis that failed, or were not made because it is known not to answer (down).", []string{"server", "kind"}, nil)
	broken   = prometheus.NewDesc("drossel_redis_open", "1 while Redis is not asked because it did not answer, else 0.", []string{"server"}, nil)
)

// newLatency is made for each server; its count is that of the calls made.
func newLatency(server string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "drossel_redis_call_duration_seconds", Help: "How long calls of Redis took, those that failed included.",
		ConstLabels: prometheus.Labels{"server": server}, Buckets: prometheus.ExponentialBuckets(50e-6, 2, 13),
	})
}

// Describe implements prometheus.Collector.
func (c *Client) Describe(out chan<- *prometheus.Desc) {
	out <- failures
	out <- broken
	for _, e := range c.endpoints {
		e.counts.latency.Describe(out)
	}
}

// Collect implements prometheus.Collector: register the client with a registry.
func (c *Client) Collect(out chan<- prometheus.Metric) {
	for i, s := range c.Stats() {
		for kind := range kinds {
			out <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, float64(s.Errors[kind]), s.Server, kind.String())
		}
		open := 0.0
		if s.Open {
			open = 1
		}
		out <- prometheus.MustNewConstMetric(broken, prometheus.GaugeValue, open, s.Server)
		c.endpoints[i].counts.latency.Collect(out)
	}
}
