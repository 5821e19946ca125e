package gossip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
)

// joinWidth is how many seeds are asked at once. A dead one costs memberlist's TCP timeout of 2 s.
const joinWidth = 8

// Join asks the seeds for the other nodes, all at once, and returns how many nodes other than this one answered. Names
// are looked up anew, and this node's own addresses left out; if no others remain it returns 0 and no error.
//
// Call it again every 15 to 30 s for ever: that is what finds a seed that came up later, and what heals a cut that
// lasted longer than the two sides remember each other. The error joins one for each seed that failed, even if others
// answered: ErrRefused, ErrParameters, or that of the network. It wraps ErrClosed after Leave or Close. It blocks until
// all have answered or failed, a few seconds at most for a handful of seeds, or until ctx ends.
func (g *Gossip) Join(ctx context.Context) (others int, err error) {
	type result struct {
		others int
		err    error
	}
	found := make(chan result, 1)
	err = g.await(ctx, running, func() error {
		targets, errs := g.targets(ctx)
		failed := g.contact(ctx, targets)
		met := 0
		for _, err := range failed {
			if err == nil {
				met++
			}
		}
		// An address that leads back here, through a load balancer say, looks like another node that answers.
		met = min(met, g.list.NumMembers()-1)
		found <- result{met, errors.Join(append(errs, failed...)...)}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("join: %w", err)
	}
	r := <-found
	return r.others, r.err
}

// target is one address to ask, with the seed that it comes from.
type target struct {
	seed seed
	addr netip.AddrPort
}

// targets looks up the seeds and returns each address once, without those of this node.
func (g *Gossip) targets(ctx context.Context) (targets []target, errs []error) {
	seen := make(map[netip.AddrPort]bool)
	for _, s := range g.seeds {
		addrs, err := s.resolve(ctx, g.names)
		if err != nil {
			errs = append(errs, err)
		}
		for _, addr := range addrs {
			if !seen[addr] && !g.own.is(addr) {
				targets = append(targets, target{s, addr})
			}
			seen[addr] = true
		}
	}
	return targets, errs
}

// contact exchanges lists with the targets, a few at a time, and returns their errors in the same order.
func (g *Gossip) contact(ctx context.Context, targets []target) []error {
	errs := make([]error, len(targets))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(joinWidth, len(targets)) {
		workers.Go(func() { // ends when all targets are given out
			for i := range next {
				if err := ctx.Err(); err != nil {
					errs[i] = fmt.Errorf("seed %s: %w", targets[i].seed.text, err)
				} else if _, err := g.list.Join([]string{targets[i].addr.String()}); err != nil {
					errs[i] = g.explain(targets[i], err)
				}
			}
		})
	}
	for i := range targets {
		next <- i
	}
	close(next)
	workers.Wait()
	return errs
}

// hangups are parts of errors that mean: the other side, or this one, could not read what it got.
var hangups = []string{
	"EOF", "connection reset by peer", "broken pipe", "remote error:",
	"could decrypt the message", "encryption is configured", "encryption is not configured",
}

// explain says what to do about a seed that could not be joined. Memberlist flattens errors into text, so the kind is
// found in the text and wrapped again.
func (g *Gossip) explain(t target, err error) error {
	if first := errors.Unwrap(err); first != nil { // a list of one error
		err = first
	}
	where := fmt.Sprintf("seed %s (%s)", t.seed.text, t.addr)
	text := strings.TrimPrefix(err.Error(), fmt.Sprintf("failed to join %s: ", t.addr))
	if _, detail, ok := strings.Cut(text, ErrParameters.Error()); ok {
		return fmt.Errorf("%s: %w%s", where, ErrParameters, detail)
	}
	for _, mark := range hangups {
		if strings.Contains(text, mark) {
			label, hash := splitLabel(g.wireLabel)
			return fmt.Errorf("%s: %w, as nodes of another label or secret do: this node has label %q and secret %q, the "+
				"log of the other names both sides (%s)", where, ErrRefused, label, hash, text)
		}
	}
	return fmt.Errorf("%s: %s; see that a node runs there and that TCP and UDP are open to it: it is asked again at the "+
		"next join", where, text)
}
