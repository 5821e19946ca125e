package node

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/transport"
)

// Editions of policies spread by comparing: whoever has a new one tells all nodes that it is connected to, and those who do not have it
// fetch it and tell it in turn. Once a second each node compares with one other, so that what was cut off hears of it as well.

const (
	compareInterval = time.Second
	compareTimeout  = time.Second
	fetchTimeout    = 5 * time.Second
	// applyPatience is how long applying waits for the others to have what was applied.
	applyPatience = 3 * time.Second
	applyLook     = 20 * time.Millisecond
)

// editionName is what nodes tell each other of an edition before it is fetched. The zero editionName is none.
type editionName struct {
	Number uint64 `json:"number"`
	Digest string `json:"digest"`
}

func (e *Edition) name() editionName {
	if e == nil {
		return editionName{}
	}
	return editionName{e.Number, e.Digest}
}

func (e editionName) edition() *Edition {
	if e == (editionName{}) {
		return nil
	}
	return &Edition{Number: e.Number, Digest: e.Digest}
}

// comparison is what one node tells another.
type comparison struct {
	editionName
	// Own are the policies of the node's own source.
	Own ownPolicies `json:"own"`
}

// ownPolicies names policies of a node's own source. Nodes with the same text take the highest of their revisions for that of all: files
// have come to them at different times.
type ownPolicies struct {
	Kind     SourceKind `json:"kind"`
	Digest   string     `json:"digest"`
	Revision uint64     `json:"revision"`
}

// comparison returns what this node tells others.
func (n *Node) comparison() comparison {
	n.editions.mu.Lock()
	defer n.editions.mu.Unlock()
	c := comparison{editionName: n.editions.newest.Load().name()}
	if from := n.editions.from; from.Revision != 0 && n.editions.own.Text() != "" {
		c.Own = ownPolicies{from.Kind, digestOf(false, n.editions.own.Text()), from.Revision}
	}
	return c
}

// heard takes in which policies another node has of its own source.
func (n *Node) heard(its ownPolicies) {
	own := n.comparison().Own
	if own.Digest == "" || own.Digest != its.Digest || own.Kind != its.Kind || its.Revision <= own.Revision {
		return
	}
	n.editions.mu.Lock()
	set, from := n.editions.own, n.editions.from
	n.editions.mu.Unlock()
	from.Revision = its.Revision
	if err := n.SetPolicies(set, from); err != nil {
		n.log.Error("policies that are used already are refused", "error", err)
	}
}

// after says whether an edition of that name wins over one that may be nil.
func (e editionName) after(other *Edition) bool {
	return e != editionName{} && e.edition().After(other)
}

// spread tells others of editions, and hears of theirs, until ctx ends.
func (n *Node) spread(ctx context.Context) {
	ticks := time.NewTicker(compareInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.editions.wake:
			n.compareAll(ctx)
		case <-ticks.C:
			if links := n.peers(); len(links) > 0 {
				l := links[rand.IntN(len(links))]
				if _, err := n.compare(ctx, l); err != nil {
					l.node.log.Debug("editions of policies could not be compared", "peer", l.member.ID, "error", err)
				}
			}
		}
	}
}

// fetchNews fetches what others have told of, until ctx ends: beside spread, which waits for those who do not answer.
func (n *Node) fetchNews(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-n.editions.news:
			if err := n.fetchEdition(ctx, l); err != nil && ctx.Err() == nil {
				n.log.Warn("an edition of the policies could not be fetched; it is tried again", "peer", l.member.ID, "error", err)
			}
		}
	}
}

// peers returns the links to the other nodes, one for each.
func (n *Node) peers() (all []*link) {
	n.viewing.Lock()
	defer n.viewing.Unlock()
	for _, l := range n.links {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *link) int { return strings.Compare(a.member.ID, b.member.ID) })
	return all
}

// compareAll compares with all other nodes at once, and returns how many have answered.
func (n *Node) compareAll(ctx context.Context) (answered int) {
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, l := range n.peers() {
		asking.Go(func() {
			if _, err := n.compare(ctx, l); err == nil {
				mu.Lock()
				defer mu.Unlock()
				answered++
			}
		})
	}
	asking.Wait()
	return answered
}

// compare tells one node which edition this one has, and fetches its edition if that wins. It returns what the other has said.
func (n *Node) compare(ctx context.Context, l *link) (has editionName, err error) {
	asking, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	own, err := json.Marshal(n.comparison())
	if err != nil {
		return has, err
	}
	reply, err := l.bulk.call(asking, transport.CompareEditions, own)
	var its comparison
	if err == nil {
		err = json.Unmarshal(reply, &its)
	}
	if has = its.editionName; err == nil {
		n.heard(its.Own)
	}
	if err == nil && has.after(n.editions.newest.Load()) {
		err = n.fetchEdition(ctx, l)
	}
	return has, err
}

// fetchEdition takes over the edition of another node if it wins.
func (n *Node) fetchEdition(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	reply, err := l.bulk.call(ctx, transport.GetEdition, nil)
	var e Edition
	if err == nil {
		err = json.Unmarshal(reply, &e)
	}
	if err != nil {
		return err
	}
	if _, _, err := n.adopt(e); err != nil {
		n.log.Error("this node can't use policies that others apply, and goes on with those it has; if it is of an older version, "+
			"update it", "edition", e.String(), "peer", l.member.ID, "error", err)
		return err
	}
	return nil
}

// compared answers a node that tells its edition: with this node's own. One that wins is fetched.
func (n *Node) compared(from transport.Hello, body []byte) ([]byte, error) {
	var its comparison
	if err := json.Unmarshal(body, &its); err != nil {
		return nil, fmt.Errorf("the name of an edition: %w", err)
	}
	n.heard(its.Own)
	if its.after(n.editions.newest.Load()) {
		for _, l := range n.peers() {
			if l.member.ID == from.ID {
				select {
				case n.editions.news <- l:
				default: // there is news of another already
				}
			}
		}
	}
	return json.Marshal(n.comparison())
}

// learnEditions asks the others before the node is ready, so that it does not begin with policies that have been replaced. It waits for
// one answer, for some time, if it is connected to anybody.
func (n *Node) learnEditions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, applyPatience)
	defer cancel()
	looks := time.NewTicker(applyLook)
	defer looks.Stop()
	up := func(l *link) bool { return l.isUp() }
	for slices.ContainsFunc(n.peers(), up) && n.compareAll(ctx) == 0 {
		select {
		case <-ctx.Done():
			n.log.Warn("no other node has said which policies apply: this one begins with its own")
			return
		case <-looks.C:
		}
	}
}

// awaitEdition waits until all nodes that answer have an edition, or a later one, and says who does.
func (n *Node) awaitEdition(ctx context.Context, e *Edition) []NodeEdition {
	ctx, cancel := context.WithTimeout(ctx, applyPatience)
	defer cancel()
	looks := time.NewTicker(applyLook)
	defer looks.Stop()
	links := n.peers()
	all := make([]NodeEdition, 1+len(links))
	all[0] = NodeEdition{Node: n.name, Has: true, Edition: n.editions.newest.Load().String()}
	waits := func(o NodeEdition) bool { return !o.Has && o.Error == "" }
	for {
		var asking sync.WaitGroup
		for i, l := range links {
			if waits(all[i+1]) {
				asking.Go(func() { all[i+1] = n.hasEdition(ctx, l, e) })
			}
		}
		asking.Wait()
		if !slices.ContainsFunc(all, waits) {
			return all
		}
		select {
		case <-ctx.Done():
			return all
		case <-looks.C:
		}
	}
}

func (n *Node) hasEdition(ctx context.Context, l *link, e *Edition) NodeEdition {
	o := NodeEdition{Node: l.member.ID}
	has, err := n.compare(ctx, l)
	if err != nil {
		o.Error = err.Error()
		return o
	}
	o.Edition, o.Has = has.edition().String(), !e.name().after(has.edition())
	return o
}
