package node

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/dchest/siphash"

	"github.com/drossel-dev/drossel/bucket"
)

// secrets are the keys that a cluster's secret is stretched into, each for one use.
type secrets struct {
	id     [2]uint64 // names buckets: without it nobody can aim at one, or at a partition
	gossip []byte    // encrypts gossip; nil if there is no secret
	peer   []byte    // proved when peers connect
	public string    // may be shown: differs where secrets differ
}

// stretch derives the keys. Without a secret they come from the label, so that nodes still agree.
func stretch(secret []byte, label string) secrets {
	root, salt := secret, []byte("drossel secret")
	if len(secret) == 0 {
		root, salt = []byte(label), []byte("drossel label")
	}
	key := func(use string, n int) []byte {
		k, err := hkdf.Key(sha256.New, root, salt, use, n)
		if err != nil {
			panic(err) // only for lengths that are not in this file
		}
		return k
	}
	id := key("bucket ids", 16)
	s := secrets{
		id:     [2]uint64{binary.LittleEndian.Uint64(id), binary.LittleEndian.Uint64(id[8:])},
		peer:   key("peers", 32),
		public: hex.EncodeToString(key("public hash", 4)),
	}
	if len(secret) != 0 {
		s.gossip = key("gossip", 32)
	}
	return s
}

// name turns the encoded policy and key of a request into the id of its group.
func (s *secrets) name(key []byte) bucket.ID {
	hi, lo := siphash.Hash128(s.id[0], s.id[1], key)
	return bucket.ID{Hi: hi, Lo: lo}
}
