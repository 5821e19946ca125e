package ring_test

import (
	"fmt"
	"testing"

	"github.com/drossel-dev/drossel/ring"
)

func crowd(n int) []ring.Member {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("pod-%d", i)
	}
	return members(names)
}

func BenchmarkLookup(b *testing.B) {
	r := place(b, builder(b, ring.Params{}), crowd(10))
	sum, id := 0, [16]byte{}
	for b.Loop() {
		id[0]++
		sum += r.Owner(r.Partition(id))
	}
}

func BenchmarkPlaceAfterJoin(b *testing.B) {
	for _, n := range []int{3, 10, 50, 100} {
		b.Run(fmt.Sprint("N=", n), func(b *testing.B) {
			builder, list := builder(b, ring.Params{}), crowd(n+1)
			place(b, builder, list[:n])
			for joined := true; b.Loop(); joined = !joined { // in turn one joins, one leaves
				if joined {
					place(b, builder, list)
				} else {
					place(b, builder, list[:n])
				}
			}
		})
	}
}

func BenchmarkPlaceFresh(b *testing.B) {
	for _, n := range []int{3, 10, 50, 100} {
		b.Run(fmt.Sprint("N=", n), func(b *testing.B) {
			list := crowd(n)
			for b.Loop() {
				place(b, builder(b, ring.Params{}), list)
			}
		})
	}
}

func BenchmarkSuccessors(b *testing.B) {
	for _, n := range []int{3, 10, 50, 100} {
		b.Run(fmt.Sprint("N=", n), func(b *testing.B) {
			builder := builder(b, ring.Params{})
			place(b, builder, crowd(n))
			for b.Loop() {
				if _, err := builder.Successors(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
