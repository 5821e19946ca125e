package node

import (
	"context"
	"fmt"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Applied says what came of applying policies.
type Applied struct {
	Edition Edition `json:"edition"` // without its text
	// Unchanged says that the text applies already, as this edition.
	Unchanged bool `json:"unchanged,omitempty"`
	// Kept says that it outlives the node where it was applied.
	Kept bool `json:"kept"`
	// Nodes are those that this node knows, and which edition they have.
	Nodes []NodeEdition `json:"nodes"`
	// Winner is another edition that was applied at the same time, and wins over this one; nil as a rule.
	Winner *Edition `json:"winner,omitempty"`
}

// NodeEdition says which edition a node has.
type NodeEdition struct {
	Node    string `json:"node"`
	Has     bool   `json:"has"` // the one that was applied, or a later one
	Edition string `json:"edition,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Apply applies a text of policies for the whole cluster: name is that of the file, for messages. It returns when all nodes that can be
// reached have it, or after some seconds, and says who has. The error wraps policy.ErrInvalidPolicy if the text is wrong; nothing has
// changed then.
func (n *Node) Apply(ctx context.Context, name, text string) (Applied, error) {
	return n.apply(ctx, Edition{Name: name, Text: text})
}

// Rollback applies the text of an edition before, by its number, as a new edition: of the one before the present one if that is 0. The
// error wraps ErrNoEdition if the node does not know it.
func (n *Node) Rollback(ctx context.Context, number uint64) (Applied, error) {
	old, err := n.before(number)
	if err != nil {
		return Applied{}, err
	}
	return n.apply(ctx, Edition{Name: old.Name, Text: old.Text, Withdrawn: old.Withdrawn, Back: old.Number})
}

// before returns the newest edition of that number, or of any, which is not the present one.
func (n *Node) before(number uint64) (Edition, error) {
	n.editions.mu.Lock()
	defer n.editions.mu.Unlock()
	present := n.editions.newest.Load()
	for i := len(n.editions.history) - 1; i >= 0; i-- {
		if e := n.editions.history[i]; present.After(&e) && (number == 0 || e.Number == number) {
			return e, nil
		}
	}
	return Edition{}, fmt.Errorf("%w before %v: this node remembers the last %d that it has heard of", ErrNoEdition, present, MaxEditions)
}

// Withdraw ends the applying of editions: nodes go by their own policies again, until another is applied.
func (n *Node) Withdraw(ctx context.Context) (Applied, error) {
	return n.apply(ctx, Edition{Withdrawn: true})
}

func (n *Node) apply(ctx context.Context, e Edition) (a Applied, err error) {
	if err := n.accepts(ctx); err != nil {
		return a, err
	}
	e.Digest, e.Number = digestOf(e.Withdrawn, e.Text), 1
	set, err := e.read()
	if err == nil {
		if err = n.checkStrict(set); err != nil {
			err = fmt.Errorf("%w: %w", policy.ErrInvalidPolicy, err)
		}
	}
	if err != nil {
		return a, err
	}
	n.compareAll(ctx) // so that the number is higher than any that is known
	for {
		last := n.editions.newest.Load()
		if last != nil && last.Digest == e.Digest {
			a.Edition, a.Unchanged, a.Kept = *last, true, n.cfg.Store != nil
			break
		}
		if last != nil {
			e.Number = last.Number + 1
		}
		e.Node, e.Time = n.name, time.Now().UTC().Truncate(time.Millisecond)
		adopted, kept, err := n.adopt(e)
		if err != nil {
			return a, err
		}
		if a.Edition, a.Kept = e, kept; adopted {
			break
		}
	}
	a.Edition.Text = ""
	a.Nodes = n.awaitEdition(ctx, &a.Edition)
	if last := *n.editions.newest.Load(); last.Digest != a.Edition.Digest {
		last.Text = ""
		a.Winner = &last
	}
	return a, nil
}
