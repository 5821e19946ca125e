// Package weblog reads the access logs of web servers: the common and the combined format, as Apache and nginx write
// them, plain or gzipped.
//
// A log is data from outside, and much of it was chosen by clients. A line that cannot be understood is counted and the
// first few are kept with the reason; no line stops the reading, and a line's length is bounded.
//
// What it does not do: follow a growing file, guess other formats, resolve names, or decide anything about an entry.
package weblog
