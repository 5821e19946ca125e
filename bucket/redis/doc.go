// Package redis decides groups of limits in Redis, by one atomic script for each: all limits of a group admit, or nothing is taken.
//
// The arithmetic is that of package bucket, exact, by the clock of the Redis server, which counts microseconds. The script keeps the state
// of each limit, says if all admit, and returns the states as they were; the numbers of the answer are then computed by package bucket
// itself. A key lives until its group is as good as new.
//
// What it does not do: keep connections, retry, or decide when Redis can't be asked.
package redis
