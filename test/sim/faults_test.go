package sim

import (
	"fmt"
	"time"
)

// faultKind is something that happens to a cluster for a while.
type faultKind int

const (
	cutOneWay faultKind = iota
	breakLink
	pauseNode
	faultKinds
)

// fault is one of them. A pause looks at from alone, and a cut of a node from itself is none.
type fault struct {
	kind      faultKind
	at, lasts time.Duration
	from, to  string
}

func (f fault) String() string {
	switch f.kind {
	case cutOneWay:
		return fmt.Sprintf("%v: cut %s to %s for %v", f.at, f.from, f.to, f.lasts)
	case breakLink:
		return fmt.Sprintf("%v: connection of %s to %s breaks", f.at, f.from, f.to)
	}
	return fmt.Sprintf("%v: %s stands still for %v", f.at, f.from, f.lasts)
}

// inflict has a fault happen, counted from now, and returns when it is over.
func (c *cluster) inflict(f fault) {
	c.sleep(f.at)
	switch f.kind {
	case cutOneWay:
		c.cut(way{f.from, f.to})
		c.sleep(f.lasts)
		c.heal(way{f.from, f.to})
	case breakLink:
		c.tap.breakLink(way{f.from, f.to})
	case pauseNode:
		c.pause(f.from, f.lasts)
	}
}

// wakes is how long checks that read the clock before their process was stopped go on spending after it.
const wakes = 100 * time.Millisecond

// pause does to a node what stopping its process does, as far as others can see: it hears and says nothing, nobody asks
// it, and for it no time passes. At the end checks that read the clock before go on, and many of them, which is worse
// than what happens in truth: they may spend from leases that have ended. The oracle allows what they spend, and no
// more.
func (c *cluster) pause(node string, lasts time.Duration) {
	for _, other := range c.names {
		c.cut(way{node, other})
		c.cut(way{other, node})
	}
	i := c.index(node)
	c.clocks[i].stop()
	c.silence(i, 1)
	c.sleep(lasts)
	c.silence(i, -1)
	c.sleep(wakes)
	c.clocks[i].resume()
	for _, other := range c.names {
		c.heal(way{node, other})
		c.heal(way{other, node})
	}
}

// silence has a node be asked for nothing, until as often undone.
func (c *cluster) silence(node, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent[node] += by
}

func (c *cluster) isSilent(node int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent[node] > 0
}

// cut stops a way until as many heals.
func (c *cluster) cut(w way) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cuts[w]++; c.cuts[w] == 1 {
		c.network.Cut(w.from, w.to)
	}
}

func (c *cluster) heal(w way) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cuts[w]--; c.cuts[w] == 0 {
		c.network.Heal(w.from, w.to)
	}
}
