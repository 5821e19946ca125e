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

// fault is one of them. A pause looks at from alone.
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

// pause does to a node what stopping its process does, as far as others can see: it hears and says nothing, and for it
// no time passes, while a check that read the clock before goes on. Many checks do that here, which is worse. The
// oracle allows what such checks spend from leases, and no more.
func (c *cluster) pause(node string, lasts time.Duration) {
	for _, other := range c.names {
		c.cut(way{node, other})
		c.cut(way{other, node})
	}
	clock := c.clocks[c.index(node)]
	clock.stop()
	c.sleep(lasts)
	clock.resume()
	for _, other := range c.names {
		c.heal(way{node, other})
		c.heal(way{other, node})
	}
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
