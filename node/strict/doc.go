// Package strict asks Redis for decisions on groups of limits: it keeps the connections, spreads groups over several servers, notices when one
// is slow or gone and when it is back, and counts.
//
// Its metrics are those of a prometheus.Collector, which a Client is.
//
// What it does not do: decide anything itself, retry, or know what becomes of a check that Redis can't be asked.
package strict
