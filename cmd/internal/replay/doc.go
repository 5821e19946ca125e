// Package replay plays an access log through a limiter and reports who would have been limited.
//
// The log's own time is the time of every check, so days of a log take seconds, and the answer is that of the limiter
// under test, whatever it is: one bucket or a whole cluster.
//
// What it does not do: read logs (weblog), decide (the Limiter does), wait, or send the requests to anybody.
package replay
