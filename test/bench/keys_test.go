package bench

import (
	"fmt"
	"math/bits"
	"testing"
)

// keyBytes is the length of every key: that of a UUID in binary, or of a 64-bit number in hex.
const keyBytes = 16

// makeKeys returns the keys numbered from first on.
func makeKeys(first, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("user-%0*d", keyBytes-len("user-"), first+i)
	}
	return keys
}

// order is a reproducible sequence of keys, all equally likely (Marsaglia's xorshift, 2003). It costs about a
// nanosecond, and the same with one key as with a million. Zero is not a valid order.
type order uint64

func newOrder(caller int) order { return order(0x9e3779b97f4a7c15 * uint64(caller+1)) }

// next returns the index of the next of n keys.
func (o *order) next(n int) int {
	x := *o
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*o = x
	hi, _ := bits.Mul64(uint64(x), uint64(n))
	return int(hi)
}

func TestOrderIsUniform(t *testing.T) {
	const n, draws = 64, 64 * 10_000
	var hits [n]int
	o := newOrder(0)
	for range draws {
		hits[o.next(n)]++
	}
	for i, h := range hits {
		if h < draws/n*9/10 || h > draws/n*11/10 { // ten standard deviations
			t.Errorf("key %d drawn %d times, want about %d", i, h, draws/n)
		}
	}
}

func TestKeys(t *testing.T) {
	keys := makeKeys(999_990, 20)
	seen := map[string]bool{}
	for _, k := range keys {
		if len(k) != keyBytes {
			t.Errorf("key %q has %d bytes, want %d", k, len(k), keyBytes)
		}
		seen[k] = true
	}
	if len(seen) != len(keys) {
		t.Errorf("%d different keys, want %d", len(seen), len(keys))
	}
}
