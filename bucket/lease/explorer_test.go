package lease

import (
	"fmt"
	"strings"

	"github.com/drossel-dev/drossel/bucket"
)

// explorer visits every world that a set of rules leads to, nearest first.
type explorer struct {
	seen  map[mark]struct{}
	from  []uint32 // by world: the one that it came from
	by    []move   // and the move that led from there
	queue []*world // reached and not yet left, nearest first
	free  []*world // to be used again
	tried int      // moves
}

// explore visits all worlds, or as many as most. If an invariant is broken, trace is the shortest way to where it is.
func explore(r *rules, most int) (e *explorer, complete bool, trace string) {
	r.post = new(post)
	e = &explorer{seen: make(map[mark]struct{})}
	encode := newEncoder()
	first := begin(r)
	e.seen[encode.mark(first)] = struct{}{}
	e.add(first, 0, move{})
	var all []move
	next := new(world)
	for at := uint32(0); len(e.queue) > 0; at++ {
		w := e.queue[0]
		e.queue = e.queue[1:]
		all = w.moves(all[:0])
		for _, m := range all {
			w.copyTo(next)
			e.tried++
			if !next.apply(m) {
				continue
			}
			next.lapse()
			wrong := next.broken()
			id := encode.mark(next)
			if _, found := e.seen[id]; found && wrong == "" {
				continue
			}
			e.seen[id] = struct{}{}
			e.add(next, at, m)
			if wrong != "" {
				return e, false, e.trace(r) + wrong
			}
			next = e.fresh()
		}
		e.free = append(e.free, w)
		if len(e.by) >= most {
			return e, false, ""
		}
	}
	return e, true, ""
}

func (e *explorer) add(w *world, from uint32, by move) {
	e.from, e.by, e.queue = append(e.from, from), append(e.by, by), append(e.queue, w)
}

func (e *explorer) fresh() *world {
	last := len(e.free) - 1
	if last < 0 {
		return new(world)
	}
	w := e.free[last]
	e.free = e.free[:last]
	return w
}

// trace tells the way to the newest world, one move a line.
func (e *explorer) trace(r *rules) string {
	var way []move
	for at := uint32(len(e.by) - 1); at > 0; at = e.from[at] {
		way = append(way, e.by[at])
	}
	var b strings.Builder
	w := begin(r)
	for i := len(way) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "%3d. %-78s", len(way)-i, way[i].describe(w))
		w.apply(way[i])
		w.lapse()
		fmt.Fprintf(&b, " %v\n", w)
	}
	return b.String()
}

// String shows a moment: its time, what the owner and the oracle hold, what is out, and each purse.
func (w *world) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "t=%d", w.now/bucket.Instant(tick))
	for j, s := range w.states {
		fmt.Fprintf(&b, " b=%d ideal=%d", s.Tokens, w.ideal[j])
	}
	fmt.Fprintf(&b, " out=%d", w.ledger.out)
	for i := range w.holders {
		p := &w.holders[i].purse
		fmt.Fprintf(&b, " %s(lease %d: left %d held %d spent %d)", names[i], p.Lease(w.now).Number, p.left, p.held, p.spent)
	}
	return b.String()
}
