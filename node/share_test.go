package node

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
)

// limitsOfAnySize are valid limits, extremes among them more often than by chance.
var limitsOfAnySize = rapid.Custom(func(t *rapid.T) bucket.Limit {
	tokens := rapid.OneOf(rapid.Int64Range(0, 50), rapid.Int64Range(0, bucket.MaxTokens),
		rapid.Just[int64](bucket.MaxTokens))
	per := rapid.OneOf(rapid.Int64Range(1, 50), rapid.Int64Range(1, math.MaxInt64), rapid.Just[int64](math.MaxInt64))
	return bucket.Limit{
		Count: tokens.Draw(t, "count"), Per: time.Duration(per.Draw(t, "per")), Burst: tokens.Draw(t, "burst"),
		OwnerLoss: bucket.OwnerLoss(rapid.IntRange(0, 2).Draw(t, "loss")),
	}
})

// TestSharesAreTheWhole: the shares of all ranks have the burst together, each its part of it but for one token, and no
// more than the rate.
func TestSharesAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limitsOfAnySize.Draw(t, "limit")
		nodes := rapid.IntRange(1, 300).Draw(t, "nodes")
		var burst int64
		rate := new(big.Rat)
		for rank := range nodes {
			p := part(l, nodes, rank)
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			if least := l.Burst / int64(nodes); p.Burst != least && p.Burst != least+1 {
				t.Fatalf("rank %d has %d of %d tokens", rank, p.Burst, l.Burst)
			}
			burst += p.Burst
			if p.Count > 0 {
				rate.Add(rate, big.NewRat(p.Count, int64(p.Per)))
			}
		}
		if burst != l.Burst {
			t.Fatalf("%d shares of %d tokens are %d", nodes, l.Burst, burst)
		}
		whole := big.NewRat(l.Count, int64(l.Per))
		if order := rate.Cmp(whole); order > 0 || order < 0 && int64(l.Per) <= math.MaxInt64/int64(nodes) {
			t.Fatalf("%d shares of %v tokens a nanosecond are %v", nodes, whole, rate)
		}
	})
}

// TestEveryNodeHasARankOfItsOwn: no share of a key is had twice, and none is had by nobody.
func TestEveryNodeHasARankOfItsOwn(t *testing.T) {
	var views [9][]*view
	for size := 1; size < len(views); size++ {
		views[size] = viewsOf(t, size)
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, len(views)-1).Draw(t, "nodes")
		id := bucket.ID{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
		taken := make([]bool, size)
		for _, v := range views[size] {
			nodes, rank := v.rankOf(id)
			if nodes != size || taken[rank] {
				t.Fatalf("rank %d of %d nodes, of which %v are taken", rank, nodes, taken)
			}
			taken[rank] = true
		}
		if slices.Contains(taken, false) {
			t.Fatalf("%v", taken)
		}
	})
}

// TestRankOutside: who owns no share of the ring's is one more.
func TestRankOutside(t *testing.T) {
	v := viewsOf(t, 3)[0]
	v.rank = outside
	if nodes, rank := v.rankOf(bucket.ID{}); nodes != 4 || rank != 3 {
		t.Errorf("rank %d of %d, want 3 of 4", rank, nodes)
	}
	if nodes, rank := (&view{self: outside, rank: outside}).rankOf(bucket.ID{}); nodes != 1 || rank != 0 {
		t.Errorf("without a ring: rank %d of %d, want 0 of 1", rank, nodes)
	}
}
