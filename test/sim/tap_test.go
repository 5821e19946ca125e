package sim

import (
	"context"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/transport"
)

// tap sees every frame of checks, answers, lease requests and grants between the nodes. What owners admit for others
// goes to the oracle from here, at the instant at which the owner sends its answer: from the take to that no virtual
// time passes.
type tap struct {
	cluster *cluster
	fates   fates

	mu    sync.Mutex
	sent  messages
	look  bucket.ID // of the latest check that took nothing
	peers map[way]transport.Peer
	fate  map[message]*fate
	last  map[way]time.Time // when a frame about leases was sent
	soon  int               // frames that came too soon after the last
}

// told counts a frame about leases. One node sends another no two within 5 ms.
func (t *tap) told(w way, requests int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent.frames++
	t.sent.requests += requests
	if t.last == nil {
		t.last = make(map[way]time.Time)
	}
	now := time.Now()
	if before, ok := t.last[w]; ok && now.Sub(before) < 5*ms {
		t.soon++
	}
	t.last[w] = now
}

func (t *tap) tooSoon() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.soon
}

// message is one kind of messages on one way.
type message struct {
	way  way
	kind string
}

// fateOf returns what befalls these messages. It goes on where it was when a connection is made again.
func (t *tap) fateOf(w way, kind string) *fate {
	m := message{w, kind}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fate[m] == nil {
		t.fate[m] = t.fates.of(m)
	}
	return t.fate[m]
}

// messages are what nodes have said to owners, as they sent it: before the network loses or repeats any.
type messages struct {
	checks, requests int // lease requests are renewals and returns
	frames           int
}

func (m messages) all() int { return m.checks + m.requests }

func (m messages) since(before messages) messages {
	return messages{m.checks - before.checks, m.requests - before.requests, m.frames - before.frames}
}

func (t *tap) messages() messages {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent
}

func (t *tap) lastLook() bucket.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.look
}

func (t *tap) count(checks []transport.Check) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent.frames++
	for i := range checks {
		if checks[i].Look {
			t.look = checks[i].ID
		} else {
			t.sent.checks++
		}
	}
}

// tapped is the network of one node, tapped.
type tapped struct {
	node.Network
	tap  *tap
	name string
}

// Listen has what peers send and are answered seen at this end, which owns what they ask for.
func (n tapped) Listen(h transport.Handler) (string, error) {
	return n.Network.Listen(tappedHandler{h, n.tap, n.name})
}

// Dial has what this node asks for seen at this end.
func (n tapped) Dial(ctx context.Context, addr string) (transport.Peer, error) {
	p, err := n.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	w := way{n.name, addr}
	asking := &asking{Stream: p.Checks(), tap: n.tap, way: w, fate: n.tap.fateOf(w, "requests")}
	n.tap.mu.Lock()
	defer n.tap.mu.Unlock()
	n.tap.peers[w] = p
	return tappedPeer{p, asking}, nil
}

// breakLink ends the connection that one node has dialed to another, with all that is under way on it.
func (t *tap) breakLink(w way) {
	t.mu.Lock()
	p := t.peers[w]
	delete(t.peers, w)
	t.mu.Unlock()
	if p != nil {
		p.Close()
	}
}

type tappedPeer struct {
	transport.Peer
	checks transport.Stream
}

func (p tappedPeer) Checks() transport.Stream { return p.checks }

type tappedHandler struct {
	transport.Handler
	tap  *tap
	name string
}

func (h tappedHandler) Serve(ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream) error {
	if kind == transport.Checks {
		s = &answering{
			Stream: s, tap: h.tap, owner: h.name, asked: make(map[uint64]transport.Check), from: from.ID,
			fate: h.tap.fateOf(way{h.name, from.ID}, "grants"),
		}
	}
	return h.Handler.Serve(ctx, from, kind, s)
}
