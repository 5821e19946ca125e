package peer

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// frame is the one message type of the service: bytes that are copied out when sent and in when received.
type frame struct{ b []byte }

// contentSubtype names the codec on the wire.
const contentSubtype = "drossel-frame"

func init() { encoding.RegisterCodecV2(codec{}) }

// codec hands frames through. gRPC holds on to what Marshal returns until it is written, so the frame is copied into a
// buffer that goes back to a pool then, and the caller may reuse its own at once.
type codec struct{}

func (codec) Name() string { return contentSubtype }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, fmt.Errorf("codec %s cannot carry a %T", contentSubtype, v)
	}
	return mem.BufferSlice{mem.Copy(f.b, mem.DefaultBufferPool())}, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("codec %s cannot carry a %T", contentSubtype, v)
	}
	n := data.Len()
	if cap(f.b) < n {
		f.b = make([]byte, n, max(n, 2*cap(f.b)))
	}
	f.b = f.b[:n]
	data.CopyTo(f.b)
	return nil
}
