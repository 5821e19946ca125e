package transport

import "encoding/binary"

// Method names a call on the bulk stream.
type Method uint8

// The calls there are. The first two have no body, and their replies are JSON. Bodies and replies of the others are
// bytes that only the two nodes understand.
const (
	// AskStatus asks a node for what it knows of itself and the cluster.
	AskStatus Method = 1
	// AskLeases asks a node for what it lends and what it was lent.
	AskLeases Method = 2
	// PutGroups puts groups of a partition at the node that is called.
	PutGroups Method = 3
	// GetGroups asks a node for groups of a partition.
	GetGroups Method = 4
	// Forget names a member to be forgotten.
	Forget Method = 5
	// Settle carries bills to the node that decides for their partitions.
	Settle Method = 6
	// CompareEditions tells a node which edition of the policies another has, and asks for its own.
	CompareEditions Method = 7
	// GetEdition asks a node for its edition of the policies.
	GetEdition Method = 8
	// SetEntries carries entries of the limits store to the node that decides for their keys; its reply says of each which number counts
	// then.
	SetEntries Method = 9
	// GetEntries names keys; the reply has their entries.
	GetEntries Method = 10
	// GetSaved names partitions; the reply has what is on the disk of the node that is called of their groups.
	GetSaved Method = 11
)

// Call is a request on the bulk stream.
type Call struct {
	// Number names the call on its stream; the reply carries it.
	Number uint64
	Method Method
	// Body is at most MaxCallBody.
	Body []byte
}

// Reply answers a Call, in as many frames as it takes: the last one has More unset.
type Reply struct {
	Number uint64
	// Failed says that Body is the text of an error.
	Failed bool
	More   bool
	Body   []byte
}

// MaxCallBody is how much a call carries: what is more takes several calls.
const MaxCallBody = MaxFrameBytes - 64

// MaxReplyBody is how much of a reply one frame carries.
const MaxReplyBody = MaxFrameBytes - 32

// AppendCall appends the frame to b. The body is at most MaxCallBody.
func AppendCall(b []byte, c Call) []byte {
	b = append(b, byte(typeCall), byte(c.Method))
	b = binary.AppendUvarint(b, c.Number)
	return appendBytes(b, c.Body)
}

// DecodeCall reads a call, whose body aliases the frame. The error wraps ErrFrame.
func DecodeCall(frame []byte) (Call, error) {
	r := open(frame, typeCall)
	c := Call{Method: Method(r.byte()), Number: r.uvarint(), Body: r.bytes(MaxCallBody)}
	return c, r.end()
}

// AppendReply appends the frame to b. The body is at most MaxReplyBody.
func AppendReply(b []byte, p Reply) []byte {
	var flags byte
	if p.Failed {
		flags |= 1
	}
	if p.More {
		flags |= 2
	}
	b = append(b, byte(typeReply), flags)
	b = binary.AppendUvarint(b, p.Number)
	return appendBytes(b, p.Body)
}

// DecodeReply reads a reply, whose body aliases the frame. The error wraps ErrFrame.
func DecodeReply(frame []byte) (Reply, error) {
	r := open(frame, typeReply)
	flags := r.byte()
	p := Reply{Failed: flags&1 != 0, More: flags&2 != 0, Number: r.uvarint(), Body: r.bytes(MaxReplyBody)}
	return p, r.end()
}
