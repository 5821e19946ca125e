package bucket

import "encoding/binary"

// ID names one group of limits on one key: 128 bits of a keyed hash over the policy and the key's parts. Without the
// cluster's secret nobody can aim at somebody else's bucket or pile keys onto one partition.
type ID struct{ Hi, Lo uint64 }

// Bytes returns the id as it stands on the wire and under the hash that picks its partition: big-endian, Hi first.
func (id ID) Bytes() (b [16]byte) {
	binary.BigEndian.PutUint64(b[:8], id.Hi)
	binary.BigEndian.PutUint64(b[8:], id.Lo)
	return b
}
