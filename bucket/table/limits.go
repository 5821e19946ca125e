package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// MaxStates is the largest number of limits in one group.
const MaxStates = 16

// ErrTooManyLimits is returned by Intern when as many different groups of limits are in use as the table of limits may
// hold: inline limits are a client's to choose, so their number is bounded.
var ErrTooManyLimits = errors.New("too many different limits in use")

// Limits interns groups of limits, so that a slot names its limits by a small number and equal limits are compared as
// such. An entry lives while anybody has it pinned or any slot uses it. Safe for concurrent use.
type Limits struct {
	mu      sync.RWMutex
	byText  map[string]*Group
	groups  []*Group // by index; nil where free
	free    []uint32
	max     int
	durable atomic.Int64 // of them, groups that are
	counted int          // of them not by entries: those are as many as there are texts in use, which clients do not choose

	sharing sync.Mutex // guards:
	texts   map[string]string
}

// Group is one interned group of limits, in reduced form. It is immutable; whoever got it from Intern calls Release
// once.
type Group struct {
	limits []bucket.Limit
	home   *Limits
	text   string
	index  uint32
	refs   atomic.Int64 // pins and slots
	plain  bool         // one token bucket
	tagged bool         // its limits are told by their tags
	// version is the highest one of the policies that are known to have had these limits.
	version atomic.Uint64
	// entry names the text of the limits store that these limits are by; 0 if they are not.
	entry uint64
	logs  int // sliding windows that are kept as a log
	// startsEmpty says that some limit does when its owner is lost, and reserve is then how much of the group that may have lent at
	// the most.
	startsEmpty bool
	reserve     int64
	durable     bool // some limit is
}

// NewLimits returns a table for at most max different groups, those by entries of the limits store not counted.
func NewLimits(max int) *Limits {
	return &Limits{byText: make(map[string]*Group), max: max}
}

// Intern returns the group of these limits, 1 to MaxStates valid ones, and pins it. The slice is copied. The error
// wraps bucket.ErrInvalidLimit or is ErrTooManyLimits.
func (ls *Limits) Intern(limits []bucket.Limit) (*Group, error) { return ls.InternAs(limits, 0) }

// InternAs is Intern for limits that policies of a version have. Once a slot has limits of some version those of a lower one do not
// take their place.
func (ls *Limits) InternAs(limits []bucket.Limit, version uint64) (*Group, error) {
	return ls.InternFor(limits, version, 0)
}

// InternFor is InternAs for limits that are those of a key by an entry of the limits store: of the name that NameOf returns, or 0.
// Limits by different entries are different groups.
func (ls *Limits) InternFor(limits []bucket.Limit, version, entry uint64) (*Group, error) {
	g, err := ls.intern(limits, entry, true)
	for err == nil {
		if v := g.version.Load(); v >= version || g.version.CompareAndSwap(v, version) {
			break
		}
	}
	return g, err
}

// Version returns the highest version of policies that are known to have had these limits; 0 if none was said.
func (g *Group) Version() uint64 { return g.version.Load() }

// Entry returns the name of the entry that these limits are by; 0 if they are not by one.
func (g *Group) Entry() uint64 { return g.entry }

func (ls *Limits) intern(limits []bucket.Limit, entry uint64, bounded bool) (*Group, error) {
	if len(limits) == 0 || len(limits) > MaxStates {
		return nil, fmt.Errorf("%w: a group of %d limits, want 1 to %d", bucket.ErrInvalidLimit, len(limits), MaxStates)
	}
	var room [8 + MaxStates*48]byte
	text := binary.BigEndian.AppendUint64(room[:0], entry)
	for _, l := range limits {
		if err := l.Validate(); err != nil {
			return nil, err
		}
		text = l.Reduced().Append(text)
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if g := ls.byText[string(text)]; g != nil {
		g.refs.Add(1)
		return g, nil
	}
	if bounded && entry == 0 && ls.counted >= ls.max {
		return nil, fmt.Errorf("%w (%d): use fewer inline limits, or policies", ErrTooManyLimits, ls.max)
	}
	if entry == 0 {
		ls.counted++
	}
	index := uint32(len(ls.groups))
	if n := len(ls.free); n > 0 {
		index, ls.free = ls.free[n-1], ls.free[:n-1]
	} else {
		ls.groups = append(ls.groups, nil)
	}
	g := &Group{limits: make([]bucket.Limit, len(limits)), home: ls, text: string(text), index: index, entry: entry}
	for i, l := range limits {
		g.limits[i] = l.Reduced()
		g.startsEmpty = g.startsEmpty || startsEmpty(&l)
		g.tagged = g.tagged || l.Tag != 0
		g.durable = g.durable || l.IsDurable()
		if l.IsLogged() {
			g.logs++
		}
	}
	g.plain = len(limits) == 1 && limits[0].Algorithm == bucket.TokenBucket
	if g.startsEmpty && bucket.Lends(limits) {
		g.reserve = lease.TermsOf(limits).Lendable()
	}
	if g.durable {
		ls.durable.Add(1)
	}
	g.refs.Store(1)
	ls.groups[index] = g
	ls.byText[g.text] = g
	return g, nil
}

// Len returns the number of different groups in use.
func (ls *Limits) Len() int {
	ls.mu.RLock()
	defer ls.mu.RUnlock()
	return len(ls.byText)
}

// Durable says whether any groups in use have a limit that is durable.
func (ls *Limits) Durable() bool { return ls.durable.Load() > 0 }

// at returns the group that a slot names. The slot's own reference keeps it in place.
func (ls *Limits) at(index uint32) *Group {
	ls.mu.RLock()
	defer ls.mu.RUnlock()
	return ls.groups[index]
}

// Limits returns the limits, reduced. The caller must not change them.
func (g *Group) Limits() []bucket.Limit { return g.limits }

// Release gives back one pin.
func (g *Group) Release() {
	if g.refs.Add(-1) > 0 {
		return
	}
	ls := g.home
	ls.mu.Lock()
	defer ls.mu.Unlock()
	// Between the count reaching zero and this lock somebody may have interned the group again, or have released it
	// again and come first.
	if g.refs.Load() == 0 && ls.groups[g.index] == g {
		ls.groups[g.index] = nil
		ls.free = append(ls.free, g.index)
		delete(ls.byText, g.text)
		if g.durable {
			ls.durable.Add(-1)
		}
		if g.entry == 0 {
			ls.counted--
		}
	}
}

// Pin counts one more user, who calls Release in turn. The caller has a pin of its own or uses a slot.
func (g *Group) Pin() { g.refs.Add(1) }
