package node

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
)

// Store keeps what has to outlive the node. Its methods are called from many goroutines at once.
type Store interface {
	// Editions returns those that are kept, the oldest first.
	Editions() ([]Edition, error)
	// KeepEdition keeps one more, and forgets the oldest of more than MaxEditions.
	KeepEdition(e Edition) error
	// Entries returns entries of the limits store that are kept, in the order of their ids: the first ones after an id, that many at most.
	Entries(after bucket.ID, most int) ([]table.Entry, error)
	// KeepEntries keeps entries, each in place of a lower one of its key.
	KeepEntries(entries []table.Entry) error
	// ForgetEntries forgets those of these that are kept with these numbers.
	ForgetEntries(entries []table.Entry) error
}

// MaxEditions is how many editions a node remembers.
const MaxEditions = 50

// ErrNoEdition is wrapped by the error about an edition that the node does not know.
var ErrNoEdition = errors.New("no such edition")

// editions are those that a node knows.
type editions struct {
	newest atomic.Pointer[Edition] // the one that applies

	mu      sync.Mutex // guards:
	history []Edition
	own     *policy.Set // what applies without one
	from    Source
	failure error // of the node's own source

	wake chan struct{} // another edition applies
	news chan *link    // that has one which wins

	changes, refused atomic.Uint64
}

// SetPolicies has the node apply other policies from the next check on, unless an edition is applied, which goes before; nil is none.
// What was counted in buckets stays: those of limits of the same names carry over. What was lent under limits that are no more is given
// back. A bucket keeps the limits of the newest policies that its owner has heard of, by from, whatever older ones the node has that
// asks.
//
// The error says what is in the way, and the node goes on as before. Safe for concurrent use.
func (n *Node) SetPolicies(set *policy.Set, from Source) error {
	if err := n.checkStrict(set); err != nil {
		return err
	}
	n.replacing.Lock()
	defer n.replacing.Unlock()
	from.Revision = n.editions.rising(set, from)
	if e := n.editions.newest.Load(); e == nil || e.Withdrawn {
		if err := n.use(set, from); err != nil {
			return err
		}
	}
	n.editions.mu.Lock()
	defer n.editions.mu.Unlock()
	n.editions.own, n.editions.from, n.editions.failure = set, from, nil
	return nil
}

// rising is the revision of policies, but higher than that of others before from the same kind of source: who brings an old file back
// means it.
func (e *editions) rising(set *policy.Set, from Source) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if was := e.from; was.Kind == from.Kind && was.Revision != 0 && from.Revision <= was.Revision {
		if e.own.Text() == set.Text() {
			return was.Revision
		}
		return was.Revision + 1
	}
	return from.Revision
}

// version orders the policies that a source has. Once an edition was withdrawn they are newer than it.
func (n *Node) version(from Source) uint64 {
	v := from.version()
	if e := n.editions.newest.Load(); e != nil && e.Withdrawn {
		v = max(v, e.source().version())
	}
	return v
}

// PoliciesFailed notes that the node's own source of policies has none that can be used. The node goes on as before. Nil says that
// the trouble is over.
func (n *Node) PoliciesFailed(err error) {
	n.editions.mu.Lock()
	defer n.editions.mu.Unlock()
	if n.editions.failure = err; err != nil {
		n.editions.refused.Add(1)
	}
}

// use puts policies in place. The caller holds replacing.
func (n *Node) use(set *policy.Set, from Source) error {
	b, err := n.newBook(set, from, n.version(from))
	if err != nil {
		return err
	}
	if err := n.checkStrict(set); err != nil {
		n.log.Error("limits that are strict are decided by their rules for failures", "error", err)
	}
	if n.book.Swap(b) != nil {
		n.editions.changes.Add(1)
		n.giveBackOld(b)
	}
	return nil
}

// adopt has an edition apply if it wins over the one that does. Of one that came from another node the text was not checked yet. kept
// says whether it will outlive the node.
func (n *Node) adopt(e Edition) (adopted, kept bool, err error) {
	set, err := e.read()
	if err != nil {
		n.editions.refused.Add(1)
		return false, false, err
	}
	n.replacing.Lock()
	defer n.replacing.Unlock()
	if !e.After(n.editions.newest.Load()) {
		return false, false, nil
	}
	from := e.source()
	if e.Withdrawn {
		n.editions.mu.Lock()
		set, from = n.editions.own, n.editions.from
		n.editions.mu.Unlock()
	}
	was := n.editions.newest.Swap(&e) // whose version the policies have
	if err := n.use(set, from); err != nil {
		n.editions.newest.Store(was)
		n.editions.refused.Add(1)
		return false, false, err
	}
	if n.cfg.Store != nil {
		if err := n.cfg.Store.KeepEdition(e); err != nil {
			n.log.Error("this edition of the policies applies, but could not be kept: after a restart this node takes it from the others",
				"edition", e.String(), "error", err)
		} else {
			kept = true
		}
	}
	n.remember(e)
	n.log.Info("policies changed", "edition", e.String(), "name", e.Name, "applied_at", e.Node, "withdrawn", e.Withdrawn)
	return true, kept, nil
}

// remember makes an edition the one that applies.
func (n *Node) remember(e Edition) {
	n.editions.mu.Lock()
	n.editions.history = append(n.editions.history, e)
	if more := len(n.editions.history) - MaxEditions; more > 0 {
		n.editions.history = slices.Delete(n.editions.history, 0, more)
	}
	n.editions.mu.Unlock()
	n.editions.newest.Store(&e)
	select {
	case n.editions.wake <- struct{}{}:
	default:
	}
}

// read checks an edition, and reads its policies.
func (e *Edition) read() (*policy.Set, error) {
	switch {
	case e.Number == 0 || e.Number >= 1<<(revisionBits-24):
		return nil, fmt.Errorf("an edition of the policies with number %d, want 1 to 2^38", e.Number)
	case e.Digest != digestOf(e.Withdrawn, e.Text):
		return nil, fmt.Errorf("edition %d of the policies does not have the digest %.16s", e.Number, e.Digest)
	case e.Withdrawn:
		return nil, nil
	}
	return policy.Parse(e.Name, []byte(e.Text))
}

// load takes up what the store has kept.
func (n *Node) load() error {
	if n.cfg.Store == nil {
		return nil
	}
	kept, err := n.cfg.Store.Editions()
	if err != nil {
		return fmt.Errorf("read the editions of the policies: %w", err)
	}
	for i := range kept {
		if e := kept[i]; e.After(n.editions.newest.Load()) {
			n.remember(e)
		}
	}
	e := n.editions.newest.Load()
	if e == nil {
		return nil
	}
	set, err := e.read()
	from := e.source()
	if e.Withdrawn {
		set, from = n.editions.own, n.editions.from
	}
	if err == nil {
		err = n.use(set, from)
	}
	if err != nil {
		return fmt.Errorf("edition %v of the policies, as it was kept: %w", e, err)
	}
	return nil
}

// Editions returns those that the node knows, the oldest first, without their texts.
func (n *Node) Editions() []Edition {
	n.editions.mu.Lock()
	defer n.editions.mu.Unlock()
	all := slices.Clone(n.editions.history)
	for i := range all {
		all[i].Text = ""
	}
	return all
}

// Edition returns an edition by number, or the one that applies if that is 0. The error wraps ErrNoEdition.
func (n *Node) Edition(number uint64) (Edition, error) {
	n.editions.mu.Lock()
	defer n.editions.mu.Unlock()
	for i := len(n.editions.history) - 1; i >= 0; i-- {
		if e := n.editions.history[i]; number == 0 || e.Number == number {
			return e, nil
		}
	}
	if number == 0 {
		return Edition{}, fmt.Errorf("%w: none was applied; this node goes by its own policies", ErrNoEdition)
	}
	return Edition{}, fmt.Errorf("%w: number %d; this node remembers the last %d that it has heard of", ErrNoEdition, number, MaxEditions)
}
