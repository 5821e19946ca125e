package redis

import (
	"strconv"
	"time"
)

// Counter is the counter of one limit in the window of an instant, for who asks approximately: by counters, which are no more than what was
// taken. Only windows of the clock and of the calendar have them.
type Counter struct {
	Key  string
	Cost int64
	// Life is for how long the counter has to be kept, at the least: a clock that is behind may ask for it after its window.
	Life time.Duration
}

// counterGrace is for how much longer a counter is kept than its window is, by the clock of who asks.
const counterGrace = time.Second

// Counters returns that of each limit at an instant of Unix time.
func (a *Ask) Counters(unix int64) []Counter {
	all := make([]Counter, len(a.Limits))
	for i := range a.Limits {
		l := &a.Limits[i]
		w := l.WindowAt(unix)
		all[i] = Counter{
			Key:  a.Key() + ":" + strconv.FormatUint(l.Tag, 36) + ":" + strconv.FormatInt(w.Index, 10),
			Cost: a.Costs[i], Life: time.Duration(w.End-unix) + counterGrace,
		}
	}
	return all
}

// Counted returns what counters say that were before the costs were added.
func (a *Ask) Counted(unix int64, before []int64) (Reply, error) {
	now := unix / int64(time.Microsecond)
	reply := []int64{1, now}
	for i := range a.Limits {
		l := &a.Limits[i]
		left := l.Burst - min(before[i], 2*maxMicros)
		if a.Costs[i] > 0 && a.Costs[i] > left {
			reply[0] = 0
		}
		reply = append(reply, 2, left, l.WindowAt(unix).Index)
	}
	return a.Read(reply)
}
