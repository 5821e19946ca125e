package node

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Edition is a text of policies that was applied at one node for the whole cluster. Of several the last wins, everywhere: the one with
// the higher number, and of those that were applied at the same time with the same number the one with the higher digest.
type Edition struct {
	// Number is one more than that of the edition before.
	Number uint64 `json:"number"`
	// Digest is that of the text, in hex.
	Digest string `json:"digest"`
	// Name is that of the file, for messages.
	Name string `json:"name"`
	// Node is where it was applied, and Time when.
	Node string    `json:"node"`
	Time time.Time `json:"time"`
	// Back is the number of the edition whose text it has again, 0 if the text is its own.
	Back uint64 `json:"back,omitempty"`
	// Withdrawn editions have no text: nodes go by their own policies again.
	Withdrawn bool   `json:"withdrawn,omitempty"`
	Text      string `json:"text,omitempty"`
}

// After says whether the edition wins over another, which may be nil: none.
func (e *Edition) After(other *Edition) bool {
	return other == nil || cmp.Or(cmp.Compare(e.Number, other.Number), strings.Compare(e.Digest, other.Digest)) > 0
}

// String names the edition: "3 (4f1c09ab)".
func (e *Edition) String() string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf("%d (%.8s)", e.Number, e.Digest)
}

// source is where the policies of an edition come from.
func (e *Edition) source() Source {
	first, err := hex.DecodeString(e.Digest[:6]) // that it is one was checked
	if err != nil {
		first = make([]byte, 3)
	}
	tail := uint64(first[0])<<16 | uint64(first[1])<<8 | uint64(first[2])
	return Source{Kind: SourceApplied, Name: e.Name, Revision: e.Number<<24 | tail}
}

func digestOf(withdrawn bool, text string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%v\n%s", withdrawn, text))
	return hex.EncodeToString(sum[:16])
}

// SourceKind says who keeps the policies of a node. A higher one wins over a lower one where nodes differ.
type SourceKind uint8

// The kinds there are.
const (
	SourceGiven   SourceKind = iota // the program that the node is part of
	SourceFile                      // a file beside the node
	SourceShared                    // a key of etcd or Consul that all nodes watch
	SourceApplied                   // an edition that was applied at some node
)

var sourceKinds = [...]string{"given", "file", "shared", "applied"}

// String returns the word used in JSON.
func (k SourceKind) String() string {
	if int(k) < len(sourceKinds) {
		return sourceKinds[k]
	}
	return sourceKinds[SourceGiven]
}

// Source says where policies come from.
type Source struct {
	Kind SourceKind
	// Name is for messages: a file, a key.
	Name string
	// Revision rises with each change at the source, and is the same at all nodes that have these policies; at most 2^62 - 1. 0 says
	// nothing about their order.
	Revision uint64
}

const revisionBits = 62

// version orders policies of all sources.
func (s Source) version() uint64 {
	return uint64(s.Kind)<<revisionBits | min(s.Revision, 1<<revisionBits-1)
}
