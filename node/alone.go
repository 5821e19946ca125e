package node

import (
	"context"
	"errors"

	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
)

// Static is a membership that never changes: every node of it is alive and active. Each node gets one of its own.
type Static []ring.Member

// Members returns the list.
func (s Static) Members() []ring.Member { return s }

// Changes is never signalled.
func (s Static) Changes() <-chan struct{} { return nil }

// Join meets all others at once.
func (s Static) Join(context.Context) (int, error) { return len(s) - 1, nil }

// SetState changes nothing: a static list tells nobody.
func (s Static) SetState(context.Context, ring.State) error { return nil }

// Leave changes nothing.
func (s Static) Leave(context.Context) error { return nil }

// Close changes nothing.
func (s Static) Close() error { return nil }

// noNetwork is the network of a node that is alone.
type noNetwork struct{}

var errAlone = errors.New("a node without a gossip address has no peers")

func (noNetwork) Listen(transport.Handler) (string, error)             { return "", nil }
func (noNetwork) Dial(context.Context, string) (transport.Peer, error) { return nil, errAlone }
func (noNetwork) Close() error                                         { return nil }
