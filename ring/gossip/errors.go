package gossip

import "errors"

var (
	// ErrConfig is wrapped when a Config is wrong. The text names every field that is.
	ErrConfig = errors.New("invalid gossip configuration")
	// ErrInUse is wrapped when another process listens on the address to bind.
	ErrInUse = errors.New("gossip address is in use")
	// ErrRefused is wrapped when a seed hung up, as a node of another label or secret does.
	ErrRefused = errors.New("refused by the other node")
	// ErrParameters is wrapped when the other side places partitions by other parameters. The text names both.
	ErrParameters = errors.New("ring parameters differ")
	// ErrClosed is wrapped by calls that come after Leave or Close.
	ErrClosed = errors.New("gossip has ended")
)
