package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport"
)

// The limits store, as those see it who write to it and read it, at any node.

const (
	storePatience = 3 * time.Second
	storeLook     = 20 * time.Millisecond
	// copyPatience is how long a copy is waited for: owners make one of what has changed every copyInterval.
	copyPatience  = time.Second
	entryCopyLook = 50 * time.Millisecond
)

// SetLimits has keys get limits of their own, or, without a text, those of their policies again. From when it returns every node goes by
// them, but that denials which nodes were told may be repeated for a second, and that nothing limits a key for a quarter of one; leases that are out
// are asked for at once. What was taken of
// a key stays taken. Each is set or not whatever comes of the others; the results are in the order of the keys. It waits for owners that
// can't be reached for 3 s, and for a copy at another node for 1 s. Safe for concurrent use.
func (n *Node) SetLimits(ctx context.Context, all []policy.KeyLimits) []policy.KeyResult {
	results := make([]policy.KeyResult, len(all))
	entries := make([]transport.Entry, len(all))
	valid := make(map[[2]string]error, 1) // by policy and text
	var open []int
	for i := range all {
		k := &all[i]
		if entries[i].ID, results[i].Err = n.idOf(k); results[i].Err != nil {
			continue
		}
		if entries[i].Text = policy.CompactStored(k.Text); entries[i].Text == "" && k.Text != "" {
			results[i].Err = fmt.Errorf("%w: a text with nothing in it: leave it out to have the key get what its policy gives it", policy.ErrInvalid)
			continue
		}
		if results[i].Err = n.accepted(k, entries[i].Text, valid); results[i].Err == nil {
			open = append(open, i)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	n.retry(ctx, storeLook, func() bool {
		open = n.sendEntries(ctx, entries, open, results)
		return len(open) == 0
	})
	for _, i := range open {
		results[i].Err = fmt.Errorf("%w: no node decides for the key now, or it can't be reached: try again", policy.ErrUnavailable)
	}
	n.awaitEntryCopies(ctx, entries, results)
	return results
}

// Limits returns what a key has of its own, in Text, which is "" if it has nothing, and where that lies. The error wraps policy.ErrInvalid,
// policy.ErrUnknownPolicy or policy.ErrUnavailable. Safe for concurrent use.
func (n *Node) Limits(ctx context.Context, k policy.KeyLimits) (policy.KeyLimits, policy.KeyResult, error) {
	id, err := n.idOf(&k)
	if err != nil {
		return k, policy.KeyResult{}, err
	}
	has, owner, err := n.entryOf(ctx, id)
	k.Text = has.Text
	return k, policy.KeyResult{Number: has.Number, Owner: owner}, err
}

// Explain says which policies a request is decided by, and why the others leave it alone, as policy.Set.Explain does, with the limits that
// its keys have of their own. Safe for concurrent use.
func (n *Node) Explain(ctx context.Context, req *policy.Request) (policy.Explained, error) {
	return n.Policies().ExplainWith(req, func(key []byte) (string, error) {
		has, _, err := n.entryOf(ctx, n.secrets.name(key))
		return has.Text, err
	})
}

// entryOf asks the owner of a key for its entry. The error wraps policy.ErrUnavailable.
func (n *Node) entryOf(ctx context.Context, id bucket.ID) (e transport.Entry, owner string, err error) {
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	var has []transport.Entry
	done := n.retry(ctx, storeLook, func() bool {
		v := n.view.Load()
		at := v.owner(n.partitions.Partition(id.Bytes()))
		ask := []transport.Entry{{ID: id}}
		switch l := v.link(at); {
		case at == v.self:
			owner = n.name
			has, err = n.giveEntries(ask)
		case l == nil:
			return false
		default:
			owner = l.member.ID
			var reply []byte
			if reply, err = l.bulk.call(ctx, transport.GetEntries, transport.AppendEntries(nil, ask)); err == nil {
				has, err = transport.DecodeEntries(reply)
			}
		}
		return err == nil && len(has) == 1
	})
	if !done {
		return e, "", fmt.Errorf("%w: the node that decides for the key can't be reached: try again", policy.ErrUnavailable)
	}
	return has[0], owner, nil
}

// idOf returns the id of a key.
func (n *Node) idOf(k *policy.KeyLimits) (id bucket.ID, err error) {
	r, err := n.book.Load().rule(k.Policy)
	if err != nil {
		return id, err
	}
	var room [128]byte
	key, err := r.policy.AppendKey(room[:0], &policy.Request{Policy: k.Policy, Key: k.Key, Parts: k.Parts})
	if err != nil {
		return id, err
	}
	return n.secrets.name(key), nil
}

// accepted says what is wrong with a text for a key. What it has found of the policy and the text it notes.
func (n *Node) accepted(k *policy.KeyLimits, text string, valid map[[2]string]error) error {
	r, err := n.book.Load().rule(k.Policy)
	if err != nil || text == "" {
		return err
	}
	if v := r.policy.For(&policy.Request{Key: k.Key, Parts: k.Parts}); v != r.policy && v.Enforced() == nil {
		return fmt.Errorf("%w: policy %s has an override for the key by which nothing limits it, so that no node asks what else it has: "+
			"take that out of the policy first", policy.ErrInvalid, k.Policy)
	}
	of := [2]string{k.Policy, text}
	if err, known := valid[of]; known {
		return err
	}
	if _, err = r.policy.Stored(text); err != nil {
		err = fmt.Errorf("%w: %w", policy.ErrInvalid, err)
	}
	valid[of] = err
	return err
}

// retry does something now and again until it is done; false if ctx has ended before.
func (n *Node) retry(ctx context.Context, every time.Duration, do func() (done bool)) bool {
	for {
		turn := n.turns.wait()
		if do() {
			return true
		}
		look := time.NewTimer(every)
		select {
		case <-ctx.Done():
			look.Stop()
			return false
		case <-turn:
		case <-look.C:
		}
		look.Stop()
	}
}

// sendEntries sends those of some indexes to the nodes that decide for their keys, at the same time, and returns those that are not taken
// yet.
func (n *Node) sendEntries(ctx context.Context, entries []transport.Entry, some []int, results []policy.KeyResult) (open []int) {
	v := n.view.Load()
	byOwner := make(map[int][]int)
	for _, i := range some {
		owner := v.owner(n.partitions.Partition(entries[i].ID.Bytes()))
		byOwner[owner] = append(byOwner[owner], i)
	}
	var mu sync.Mutex
	var sending sync.WaitGroup
	for owner, its := range byOwner {
		name := n.name
		if l := v.link(owner); l != nil {
			name = l.member.ID
		} else if owner != v.self {
			open = append(open, its...)
			continue
		}
		sending.Go(func() {
			all := make([]transport.Entry, len(its))
			for j, i := range its {
				all[j] = entries[i]
			}
			for len(its) > 0 {
				fit := transport.FitEntries(all)
				some := its[:fit]
				got, err := n.send(ctx, v, owner, all[:fit])
				its, all = its[fit:], all[fit:]
				mu.Lock()
				for j, i := range some {
					if err != nil || got[j].Status == transport.EntryNotOwner {
						open = append(open, i)
						continue
					}
					took(&results[i], name, &got[j])
					if entries[i].Number == 0 {
						entries[i].Number = got[j].Number // sent again it is the same one
					}
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	return open
}

// took takes in what an owner has said of an entry.
func took(r *policy.KeyResult, owner string, got *transport.EntryResult) {
	if r.Owner = owner; r.Number == 0 {
		r.Number = got.Number
	}
	r.Kept, r.Copied = r.Kept || got.Kept, r.Copied || got.Copied
	if got.Status == transport.EntryFull {
		r.Err = fmt.Errorf("%w: node %s has no memory for more: raise TableBytes (--table-bytes)", policy.ErrUnavailable, owner)
	}
}

// errShortReply says that a node has not said of all entries what has become of them.
var errShortReply = errors.New("a reply about other entries")

// send sends entries to one node, which may be this one.
func (n *Node) send(ctx context.Context, v *view, owner int, batch []transport.Entry) ([]transport.EntryResult, error) {
	if owner == v.self {
		return n.takeEntries(batch), nil
	}
	reply, err := v.links[owner].bulk.call(ctx, transport.SetEntries, transport.AppendEntries(nil, batch))
	if err != nil {
		return nil, err
	}
	got, err := transport.DecodeEntryResults(reply)
	if err == nil && len(got) != len(batch) {
		err = errShortReply
	}
	return got, err
}

// awaitEntryCopies waits until entries that were set have a copy at another node, if there is one. Sent again they change nothing, and who
// has them says how things are.
func (n *Node) awaitEntryCopies(ctx context.Context, entries []transport.Entry, results []policy.KeyResult) {
	if v := n.view.Load(); n.governor == nil || len(v.members) < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	n.retry(ctx, entryCopyLook, func() bool {
		var open []int
		for i := range results {
			if r := &results[i]; r.Err == nil && !r.Copied {
				open = append(open, i)
			}
		}
		if len(open) > 0 {
			n.sendEntries(ctx, entries, open, results)
		}
		return len(open) == 0
	})
}
