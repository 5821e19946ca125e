package sim

import "time"

// ofIdeal is what was admitted in tokens, as a part of what one bucket in one place admits of the same checks.
func (st *stats) ofIdeal() float64 {
	var ideal int64
	for _, i := range st.ideals {
		ideal += i.served
	}
	return float64(st.all.served) / float64(ideal)
}

// localShare is the part of the checks that were decided where they were asked, and that of those admitted.
func (st *stats) localShare() (all, admitted float64) {
	n := &st.steady
	return float64(n.local) / float64(n.checks), float64(n.localAdmitted) / float64(n.admitted)
}

// messagesPerAdmitted counts forwarded checks and lease requests.
func (st *stats) messagesPerAdmitted() float64 {
	return float64(st.messages.all()) / float64(st.steady.admitted)
}

// messagesPerSecond counts the same.
func (st *stats) messagesPerSecond() float64 {
	return float64(st.messages.all()) / (st.lasts - st.warm).Seconds()
}

// servedShare is what a node was given after the warm-up, of what it asked for.
func (st *stats) servedShare(node int) float64 {
	var sum cell
	for _, c := range st.cells[node][st.warm/cellTime:] {
		sum.asked += c.asked
		sum.served += c.served
	}
	return float64(sum.served) / float64(sum.asked)
}

// fairness is the least that any of these nodes was given over any second after the warm-up, as a part of what it was
// due: its demand, or an even share of the rate if that is less.
func (st *stats) fairness(nodes []int, perSecond float64) (worst float64) {
	const window = int(time.Second / cellTime)
	worst = 1
	share := perSecond / float64(len(nodes))
	for _, n := range nodes {
		cells := st.cells[n][:st.lasts/cellTime]
		for i := int(st.warm / cellTime); i+window <= len(cells); i++ {
			var sum cell
			for _, c := range cells[i : i+window] {
				sum.asked += c.asked
				sum.served += c.served
			}
			if due := min(float64(sum.asked), share); due > 0 {
				worst = min(worst, float64(sum.served)/due)
			}
		}
	}
	return worst
}
