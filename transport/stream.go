package transport

import "context"

// Stream carries frames both ways, in order. One goroutine may send while another receives; neither Send nor Recv is
// safe for concurrent use with itself.
type Stream interface {
	// Send sends one frame of at most MaxFrameBytes. It may block while the peer reads slowly. The caller may reuse
	// the frame when it returns.
	Send(frame []byte) error
	// Recv blocks for the next frame, which is valid until the next Recv. The error is io.EOF after an orderly end.
	Recv() ([]byte, error)
}

// MaxFrameBytes bounds one frame: what is larger is sent in chunks.
const MaxFrameBytes = 512 << 10

// Kind says what a stream carries.
type Kind uint8

const (
	// Checks carries checks and their answers: small frames that wait for nothing but each other.
	Checks Kind = 1
	// Bulk carries calls with large answers, so that they never hold up a check.
	Bulk Kind = 2
)

// String returns the name used in logs and refusals.
func (k Kind) String() string {
	switch k {
	case Checks:
		return "checks"
	case Bulk:
		return "bulk"
	}
	return "unknown"
}

// Peer is a connection to another node that has shown that it belongs to the same cluster.
type Peer interface {
	// Hello is what the other node said of itself.
	Hello() Hello
	// Version is the frame version that the two nodes use.
	Version() uint8
	Checks() Stream
	Bulk() Stream
	// Close ends both streams; whoever is blocked on them returns. It is idempotent.
	Close() error
}

// Handler is what a node offers to those who dial it. Serve is called once for each stream that passed the handshake,
// in a goroutine of its own, and the stream ends when it returns. ctx ends with the connection.
type Handler interface {
	Serve(ctx context.Context, from Hello, kind Kind, s Stream) error
}
