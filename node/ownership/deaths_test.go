package ownership

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// fate is what becomes of a member, in the order of the letters.
type fate byte

const (
	lives        fate = 'a'
	dies         fate = 'd' // for good
	restarts     fate = 'r' // at once, without memory
	returns      fate = 'l' // later, without memory, when the others have died
	diesWhenTold fate = 't' // for good, when those who came back may have learned from it
)

var fates = []fate{lives, dies, restarts, returns, diesWhenTold}

// fatesOf calls do with every combination of fates of n members; if not all are wanted, of those that have the same fates
// only the first.
func fatesOf(n int, all bool, do func([]fate)) {
	combination := make([]fate, n)
	var next func(i, from int)
	next = func(i, from int) {
		if i == n {
			do(slices.Clone(combination))
			return
		}
		for k := from; k < len(fates); k++ {
			combination[i] = fates[k]
			if all {
				next(i+1, 0)
			} else {
				next(i+1, k)
			}
		}
	}
	next(0, 0)
}

// TestDeaths has members of clusters of one to four live, die, and come back without memory, in every combination. Either
// each partition has one owner afterwards, or those who remember are no majority: then nobody decides, and there is one
// owner once an operator has had the dead forgotten, at one of those who remember, or at any if there is none. Who is alone
// and knows nothing is new: it founds a cluster with the next who comes.
func TestDeaths(t *testing.T) {
	whole, mended := 0, 0
	for n := 1; n <= 4; n++ {
		fatesOf(n, *runsFlag > 0, func(of []fate) {
			if raceDetector && n == 4 {
				return
			}
			w := live(of)
			switch how := w.mend(); {
			case w.wrong != "":
				t.Errorf("%s: %s", of, w.wrong)
			case how == "":
				whole++
			case how == "mended":
				mended++
			default:
				t.Errorf("%s: %s", of, how)
			}
		})
	}
	t.Logf("%d are whole by themselves, %d after the dead were forgotten", whole, mended)
	if whole == 0 || mended == 0 {
		t.Error("the combinations are not those that are meant")
	}
}

// live has members meet their fates, and waits until what can happen by itself has.
func live(of []fate) *world {
	w := newWorld(worldConfig{
		seed: 1, partitions: 4, capacity: 50, rate: 50, load: 0.2, least: ms / 5, most: 2 * ms, drift: 0.01,
		unreachable: "deny", forget: 2 * sec, join: 2 * sec,
	})
	w.boot(len(of))
	for i, f := range of {
		id := name(i)
		switch f {
		case dies:
			w.after(sec, func() { w.crash(id) })
		case restarts:
			w.after(sec, func() { w.crash(id) })
			w.after(sec+w.between(10*ms, 300*ms), func() { w.restart(id) })
		case returns:
			w.after(sec, func() { w.crash(id) })
			w.after(2*sec+w.between(0, 100*ms), func() { w.restart(id) })
		case diesWhenTold:
			w.after(sec+w.between(400*ms, 2*sec), func() { w.crash(id) })
		}
	}
	w.run(12 * sec)
	return w
}

// mend has an operator do what is needed, and says what was: nothing, "mended", or what is wrong still.
func (w *world) mend() string {
	living := w.living()
	if len(living) == 0 || w.unsettled() == "" {
		return ""
	}
	for part := range w.cfg.partitions {
		if len(w.deciders(part)) > 0 && w.hopeless() {
			return fmt.Sprintf("partition %d is decided without a majority", part)
		}
	}
	if !w.hopeless() {
		return "not settled: " + w.unsettled()
	}
	at := w.hosts[living[0]]
	for _, id := range living {
		if h := w.hosts[id]; h.m.memory && !at.m.memory || at.m.list.Empty() {
			at = h
		}
	}
	if at.m.list.Empty() {
		w.start(name(9))
	}
	for _, id := range slices.Clone(at.m.list.members) {
		if !w.hosts[id].alive {
			at.m.ForgetMember(at.time(), id)
			at.flush()
		}
	}
	if !w.runUntil(15*sec, func() bool { return w.unsettled() == "" }) {
		return fmt.Sprintf("not mended at %s: %s", at.id, w.unsettled())
	}
	if w.run(w.now + time.Second); w.unsettled() != "" {
		return "not mended for long: " + w.unsettled()
	}
	return "mended"
}
