package gossip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/drossel-dev/drossel/ring"
)

// meta is what a node says about itself in memberlist's 512 bytes:
//
//	version  1 byte
//	state    1 byte
//	boot     8 bytes, big-endian
//	id, peer, fingerprint    each a length of 2 bytes, big-endian, and its bytes
//
// Every meta has one encoding only. A field more, or another state, is another version.
type meta struct {
	member      ring.Member
	fingerprint string
}

const (
	metaVersion = 1
	metaFixed   = 1 + 1 + 8 + 3*2
	metaMax     = metaFixed + MaxIDBytes + MaxPeerBytes + MaxFingerprintBytes
)

// errMeta is wrapped by every error of decodeMeta.
var errMeta = errors.New("unreadable record of a node")

func (m meta) encode() []byte {
	b := make([]byte, 0, metaMax)
	b = append(b, metaVersion, byte(m.member.State))
	b = binary.BigEndian.AppendUint64(b, m.member.Boot)
	for _, text := range [...]string{m.member.ID, m.member.Peer, m.fingerprint} {
		b = binary.BigEndian.AppendUint16(b, uint16(len(text)))
		b = append(b, text...)
	}
	return b
}

func decodeMeta(b []byte) (meta, error) {
	if len(b) == 0 {
		return meta{}, fmt.Errorf("%w: it is empty; is another program gossiping here?", errMeta)
	}
	if b[0] != metaVersion {
		return meta{}, fmt.Errorf("%w: its version is %d, this node knows %d; upgrade the older of the two",
			errMeta, b[0], metaVersion)
	}
	if len(b) < metaFixed {
		return meta{}, fmt.Errorf("%w: %d bytes are too short", errMeta, len(b))
	}
	m := meta{member: ring.Member{State: ring.State(b[1]), Boot: binary.BigEndian.Uint64(b[2:10])}}
	if m.member.State < ring.Joining || m.member.State > ring.Leaving {
		return meta{}, fmt.Errorf("%w: state %d is none", errMeta, b[1])
	}
	rest := b[10:]
	for _, field := range [...]struct {
		text        *string
		least, most int
	}{{&m.member.ID, 1, MaxIDBytes}, {&m.member.Peer, 1, MaxPeerBytes}, {&m.fingerprint, 0, MaxFingerprintBytes}} {
		if len(rest) < 2 {
			return meta{}, fmt.Errorf("%w: it ends within a length", errMeta)
		}
		size := int(binary.BigEndian.Uint16(rest))
		rest = rest[2:]
		if size < field.least || size > field.most || size > len(rest) {
			return meta{}, fmt.Errorf("%w: a field of %d bytes, want %d to %d, and no more than the %d left",
				errMeta, size, field.least, field.most, len(rest))
		}
		*field.text, rest = string(rest[:size]), rest[size:]
	}
	if len(rest) != 0 {
		return meta{}, fmt.Errorf("%w: %d bytes too many", errMeta, len(rest))
	}
	return m, nil
}

// name is a process's name in memberlist. A name that comes back at another address is refused there until the dead one
// is forgotten, so each process has one of its own.
func name(m ring.Member) string { return m.ID + "/" + strconv.FormatUint(m.Boot, 16) }
