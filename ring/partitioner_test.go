package ring

import (
	"encoding/binary"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

func TestPartitionIsTheRemainder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.IntRange(1, MaxPartitions).Draw(t, "partitions")
		p := NewPartitioner(partitions)
		var id [16]byte
		binary.BigEndian.PutUint64(id[:], rapid.Uint64().Draw(t, "id"))
		for i := range 100 {
			id[15] = byte(i)
			if got, want := p.Partition(id), int(xxhash.Sum64(id[:])%uint64(partitions)); got != want {
				t.Fatalf("%d of %d, want %d", got, partitions, want)
			}
		}
	})
}
