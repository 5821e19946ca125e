package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
)

// LeasesStatus is what is lent in a cluster, as one node has gathered it. What its members say is of slightly different
// instants, so that their numbers need not agree to the token.
type LeasesStatus struct {
	// Node is who gathered it.
	Node    string         `json:"node"`
	Members []MemberLeases `json:"members"`
	// Groups are those with the most tokens out, and after them those that only holders tell of: of deny leases, mostly.
	// There are MaxLeasedGroups at most; More is how many others are known.
	Groups []LeasedGroup `json:"groups"`
	More   int           `json:"more"`
}

// MaxLeasedGroups bounds the groups in a LeasesStatus.
const MaxLeasedGroups = 1000

// MemberLeases is what one member has to do with leases.
type MemberLeases struct {
	ID string `json:"id"`
	// Hot is the number of its groups that others ask for often; Purses that of the groups of others of which it has a
	// lease or a deny lease.
	Hot    int `json:"hot"`
	Purses int `json:"purses"`
	// Error says why it did not answer. The groups it owns are then missing, or known from holders only.
	Error string `json:"error,omitempty"`
}

// LeasedGroup is one group of buckets, the limits of one policy on one key.
type LeasedGroup struct {
	// ID is its identity, in hex. Policy and Key are as a holder knows them, the key to some 250 bytes; they are empty
	// if no holder has told: an owner knows ids alone.
	ID     string `json:"id"`
	Policy string `json:"policy,omitempty"`
	Key    string `json:"key,omitempty"`
	Owner  string `json:"owner"`
	// Burst is the smallest of its limits. Lendable tokens may be out, and Out are. Lendable is 0 of a small
	// burst; all are 0 if the owner has not told.
	Burst    int64 `json:"burst"`
	Lendable int64 `json:"lendable"`
	Out      int64 `json:"out"`
	// Renewals are those that the owner has answered since the group became hot, those of its own callers included;
	// RenewalRate is how many it answers in a second, or 0 if it was hot for only a moment.
	Renewals    int64   `json:"renewals"`
	RenewalRate float64 `json:"renewals_per_second"`
	// Holders have a lease or a deny lease, or ask for the group; those with the most tokens first.
	Holders []LeaseHolder `json:"holders"`
}

// LeaseHolder is one node that is asked for a group. The owner is one among the others.
type LeaseHolder struct {
	Node string `json:"node"`
	// Lent is what it may still have by the owner's account, which is never less than what it has.
	Lent int64 `json:"lent"`
	// ChecksPerSecond and TokensPerSecond are what it is asked for, as it has told the owner.
	ChecksPerSecond float64 `json:"checks_per_second"`
	TokensPerSecond float64 `json:"tokens_per_second"`
	// Left is what it has, as it says itself; nil if it has no lease, or has not told. The owner does not.
	Left *int64 `json:"left,omitempty"`
	// DenySecs is for how many seconds it denies by the owner's word, having nothing left.
	DenySecs float64 `json:"deny_seconds,omitempty"`
}

// leaseReadings is the time between the two readings that the rates come from.
const leaseReadings = 250 * time.Millisecond

// Leases asks all members that this node knows, itself included, what they lend and what they were lent. For the rates
// it does so twice, so it takes a quarter of a second, and two seconds more if a member does not answer. It returns
// early when ctx ends; who had not answered by then has an Error. Without members before Start. Safe for concurrent
// use.
func (n *Node) Leases(ctx context.Context) LeasesStatus {
	before := n.gatherLeases(ctx)
	pause := time.NewTimer(leaseReadings)
	defer pause.Stop()
	select {
	case <-ctx.Done():
	case <-n.ending:
	case <-pause.C:
	}
	return mergeLeases(n.name, before, n.gatherLeases(ctx))
}

// leaseAnswer is what one member said.
type leaseAnswer struct {
	member string
	report leaseReport
	err    error
}

var errOutsideRing = errors.New("it is not in the ring, and so not asked")

func (n *Node) gatherLeases(ctx context.Context) []leaseAnswer {
	if stage(n.stage.Load()) == made {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	known := n.membership.Members()
	answers := make([]leaseAnswer, len(known))
	var asking sync.WaitGroup
	for i, m := range known {
		a := &answers[i]
		a.member = m.ID
		if m.ID == n.name {
			a.report = n.ownLeases()
		} else if l := n.linkTo(m); l == nil {
			a.err = errOutsideRing
		} else {
			asking.Go(func() { a.report, a.err = l.askLeases(ctx) })
		}
	}
	asking.Wait()
	return answers
}

// linkTo returns the link to a member, or nil if it is not in the ring.
func (n *Node) linkTo(m ring.Member) *link {
	m.State = ring.Active // links are by the member as it is in the ring
	n.viewing.Lock()
	defer n.viewing.Unlock()
	return n.links[m]
}

func (l *link) askLeases(ctx context.Context) (r leaseReport, err error) {
	body, err := l.bulk.call(ctx, transport.AskLeases, nil)
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if errors.Is(err, errNotConnected) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.lastErr != nil {
			err = l.lastErr
		}
	}
	return r, err
}

// groupOf is a group at one owner: while rings differ, two may have a lender of the same.
type groupOf struct{ id, owner string }

// mergeLeases puts together what members said, in the second of two readings.
func mergeLeases(asked string, before, now []leaseAnswer) LeasesStatus {
	s := LeasesStatus{Node: asked, Members: make([]MemberLeases, len(now)), Groups: []LeasedGroup{}}
	groups := make(map[groupOf]*LeasedGroup)
	group := func(id, owner string) *LeasedGroup {
		g := groups[groupOf{id, owner}]
		if g == nil {
			g = &LeasedGroup{ID: id, Owner: owner, Holders: []LeaseHolder{}}
			groups[groupOf{id, owner}] = g
		}
		return g
	}
	rates := renewalRates(before, now)
	names := make(map[string]*heldGroup)
	for i := range now {
		a := &now[i]
		s.Members[i] = MemberLeases{ID: a.member, Hot: a.report.Hot, Purses: a.report.Purses}
		if a.err != nil {
			s.Members[i].Error = a.err.Error()
			continue
		}
		s.More += a.report.Hot - len(a.report.Lent)
		for _, lent := range a.report.Lent {
			g := group(lent.ID, a.member)
			g.Burst, g.Lendable, g.Out, g.Renewals = lent.Burst, lent.Lendable, lent.Out, lent.Renewals
			g.RenewalRate = rates[groupOf{g.ID, g.Owner}]
			for _, h := range lent.Holdings {
				holder := g.holder(cmp.Or(h.Node, a.member)) // an owner has no name among its own holders
				holder.Lent, holder.ChecksPerSecond, holder.TokensPerSecond = h.Tokens, h.Checks, h.Wanted
			}
		}
		for j := range a.report.Held {
			held := &a.report.Held[j]
			names[held.ID] = held
			if !held.Leased && held.DenyFor == 0 {
				continue
			}
			holder := group(held.ID, held.Owner).holder(a.member)
			holder.DenySecs = held.DenyFor.Seconds()
			if held.Leased {
				holder.Left = &held.Left
			}
		}
	}
	for _, g := range groups {
		if held := names[g.ID]; held != nil {
			g.Policy, g.Key = held.Policy, held.Key
		}
		slices.SortFunc(g.Holders, func(a, b LeaseHolder) int {
			return cmp.Or(cmp.Compare(b.Lent, a.Lent), cmp.Compare(a.Node, b.Node))
		})
		s.Groups = append(s.Groups, *g)
	}
	slices.SortFunc(s.Groups, func(a, b LeasedGroup) int {
		return cmp.Or(cmp.Compare(b.Out, a.Out), cmp.Compare(b.Lendable, a.Lendable),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Owner, b.Owner))
	})
	s.Limit(MaxLeasedGroups)
	return s
}

// Limit leaves out all but the first groups, and counts the others in More.
func (s *LeasesStatus) Limit(groups int) {
	if over := len(s.Groups) - groups; over > 0 {
		s.Groups, s.More = s.Groups[:groups], s.More+over
	}
}

// holder returns the entry of a node, making one if there is none.
func (g *LeasedGroup) holder(node string) *LeaseHolder {
	for i := range g.Holders {
		if g.Holders[i].Node == node {
			return &g.Holders[i]
		}
	}
	g.Holders = append(g.Holders, LeaseHolder{Node: node})
	return &g.Holders[len(g.Holders)-1]
}

// renewalRates returns the renewals per second of the groups that were hot in both readings, by each owner's own clock.
func renewalRates(before, now []leaseAnswer) map[groupOf]float64 {
	type reading struct {
		renewals int64
		uptime   time.Duration
	}
	was := make(map[groupOf]reading)
	for i := range before {
		for _, g := range before[i].report.Lent {
			was[groupOf{g.ID, before[i].member}] = reading{g.Renewals, before[i].report.Uptime}
		}
	}
	rates := make(map[groupOf]float64)
	for i := range now {
		for _, g := range now[i].report.Lent {
			at := groupOf{g.ID, now[i].member}
			// Fewer than before: it was cold in between, or the owner has restarted.
			if w, ok := was[at]; ok && g.Renewals >= w.renewals && now[i].report.Uptime > w.uptime {
				rates[at] = float64(g.Renewals-w.renewals) / (now[i].report.Uptime - w.uptime).Seconds()
			}
		}
	}
	return rates
}
