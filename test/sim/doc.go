// Package sim runs a whole cluster in one process and in virtual time, and holds every admission against a bucket that
// nobody can argue with. It is made of tests and what they need.
//
// The nodes are real ones; the network between them is transport/mem, seen frame by frame and disturbed: delays, cuts,
// broken connections, and messages about leases that are lost, repeated or late. Clocks drift and stand still. All that
// is drawn comes from one seed:
//
//	go test ./test/sim -run TestRandom              20 seeds, or 5 with -race
//	go test ./test/sim -run TestRandom -seeds 1000  more of them
//	go test ./test/sim -run TestRandom -seed 17 -v  one of them, and its story
//
// The oracle keeps one reference bucket for each limit of each key and feeds it all admissions in true order, by the
// clock of the key's owner. It may run negative: its lowest point is the over-admission over all windows of time.
//
// What it does not do: fix the order in which goroutines run within one instant, which the scheduler chooses, so a seed
// brings back the same faults and the same load, not always the same interleaving. Nor does it test real sockets and
// processes, which test/e2e does.
package sim
