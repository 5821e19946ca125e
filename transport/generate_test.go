package transport

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// The generators make every value that may be sent, edges more often than chance would.

func numbers(highest int64) *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(0, highest), rapid.SampledFrom([]int64{0, 1, 127, 128, highest - 1, highest}))
}

func anyLimit() *rapid.Generator[bucket.Limit] {
	return rapid.Custom(func(t *rapid.T) bucket.Limit {
		l := bucket.Limit{
			Algorithm: bucket.Algorithm(rapid.IntRange(0, int(bucket.CalendarWindow)).Draw(t, "algorithm")),
			Count:     numbers(bucket.MaxTokens).Draw(t, "count"),
			Per:       time.Duration(numbers(math.MaxInt64).Draw(t, "per")),
			Burst:     numbers(bucket.MaxTokens).Draw(t, "burst"),
			OwnerLoss: bucket.OwnerLoss(rapid.IntRange(0, int(bucket.LossFull)).Draw(t, "loss")),
			Tag:       rapid.Uint64().Draw(t, "tag"),
		}
		switch l.Algorithm {
		case bucket.TokenBucket:
		case bucket.Pacer:
			l.MaxWait = time.Duration(numbers(math.MaxInt64).Draw(t, "wait"))
		case bucket.CalendarWindow:
			l.Per, l.Count = 0, min(l.Count, l.Burst)
			l.Calendar = bucket.Calendar(rapid.IntRange(int(bucket.Minute), int(bucket.Year)).Draw(t, "calendar"))
			l.Zone = rapid.SampledFrom([]string{"", "Europe/Berlin", "America/Argentina/ComodRivadavia"}).Draw(t, "zone")
			return l
		default:
			l.Per, l.Count = max(l.Per, 1), l.Burst
		}
		if l.Count != 0 {
			l.Per = max(l.Per, 1)
		}
		return l
	})
}

func anyRef() *rapid.Generator[uint32] {
	return rapid.Map(numbers(MaxLimitsRefs-1), func(n int64) uint32 { return uint32(n) })
}

func anyLimits() *rapid.Generator[[]LimitsBody] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) LimitsBody {
		return LimitsBody{
			Ref: anyRef().Draw(t, "ref"), Version: rapid.Uint64().Draw(t, "version"),
			Entry:  rapid.SampledFrom([]uint64{0, 0, 1, math.MaxUint64}).Draw(t, "entry"),
			Limits: rapid.SliceOfN(anyLimit(), 1, maxStates).Draw(t, "limits"),
		}
	}), 0, 4)
}

func anyID() *rapid.Generator[bucket.ID] {
	return rapid.Custom(func(t *rapid.T) bucket.ID {
		return bucket.ID{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
	})
}

func anyChecksFrame() *rapid.Generator[ChecksFrame] {
	check := rapid.Custom(func(t *rapid.T) Check {
		var costs []int64
		if rapid.Bool().Draw(t, "each") {
			costs = rapid.SliceOfN(numbers(bucket.MaxTokens), 1, maxStates).Draw(t, "costs")
		}
		var hold lease.HoldID
		var life time.Duration
		if rapid.Bool().Draw(t, "held") {
			hold, life = lease.HoldID{Node: rapid.Uint64Min(1).Draw(t, "node"), Number: rapid.Uint64().Draw(t, "hold")}, anyTerm().Draw(t, "life")
		}
		return Check{
			Costs:  costs,
			Hold:   hold,
			Life:   life,
			Number: rapid.Uint64().Draw(t, "number"),
			ID:     anyID().Draw(t, "id"),
			Limits: anyRef().Draw(t, "limits"),
			Cost:   numbers(bucket.MaxTokens).Draw(t, "cost"),
			Within: time.Duration(numbers(int64(maxWithin)).Draw(t, "within")) * time.Microsecond,
			Look:   rapid.Bool().Draw(t, "look"),
			Refund: rapid.Bool().Draw(t, "refund"),
			Hop:    uint8(rapid.IntRange(0, MaxHop).Draw(t, "hop")),
			Leases: rapid.Bool().Draw(t, "leases"),
			Demand: anyDemand().Draw(t, "demand"),
		}
	})
	return rapid.Custom(func(t *rapid.T) ChecksFrame {
		return ChecksFrame{
			Epoch:  rapid.Uint64().Draw(t, "epoch"),
			Limits: anyLimits().Draw(t, "bodies"),
			Checks: rapid.SliceOfN(check, 0, 12).Draw(t, "checks"),
		}
	})
}

func anyAnswersFrame() *rapid.Generator[AnswersFrame] {
	answer := rapid.Custom(func(t *rapid.T) Answer {
		a := Answer{
			Number: rapid.Uint64().Draw(t, "number"),
			Status: Status(rapid.IntRange(0, int(statuses)-1).Draw(t, "status")),
			By:     rapid.StringN(0, 40, maxNameBytes).Draw(t, "by"),
		}
		if a.Status == Decided {
			a.Which = uint8(rapid.IntRange(0, maxStates-1).Draw(t, "which"))
			a.Decision = bucket.Decision{
				Allowed:    rapid.Bool().Draw(t, "allowed"),
				Remaining:  numbers(bucket.MaxTokens).Draw(t, "remaining"),
				RetryAfter: time.Duration(numbers(math.MaxInt64).Draw(t, "retry after")),
				ResetAfter: time.Duration(numbers(math.MaxInt64).Draw(t, "reset after")),
			}
			a.Offer = rapid.Bool().Draw(t, "offer")
			a.Deny = anyDeny().Draw(t, "deny")
			a.Life = anyTerm().Draw(t, "life")
		}
		if a.Status == OtherLimits {
			a.Entry = rapid.StringN(0, 100, MaxEntryBytes).Draw(t, "entry")
		}
		return a
	})
	return rapid.Custom(func(t *rapid.T) AnswersFrame {
		return AnswersFrame{
			Dequeued: rapid.Uint64().Draw(t, "dequeued"),
			Answers:  rapid.SliceOfN(answer, 0, 12).Draw(t, "answers"),
		}
	})
}

func anyHello() *rapid.Generator[Hello] {
	return rapid.Custom(func(t *rapid.T) Hello {
		return Hello{
			ID:          rapid.StringN(0, 40, maxNameBytes).Draw(t, "id"),
			Boot:        rapid.Uint64().Draw(t, "boot"),
			Label:       rapid.StringN(0, 40, maxNameBytes).Draw(t, "label"),
			Fingerprint: rapid.StringN(0, 100, 1<<10).Draw(t, "fingerprint"),
			MinVersion:  rapid.Uint8().Draw(t, "min version"),
			MaxVersion:  rapid.Uint8().Draw(t, "max version"),
			Kind:        Kind(rapid.Uint8().Draw(t, "kind")),
		}
	})
}

// sameChecks says whether two frames carry the same; nil and empty slices are alike.
func sameChecks(a, b *ChecksFrame) bool {
	return a.Epoch == b.Epoch && slices.EqualFunc(a.Checks, b.Checks, func(x, y Check) bool { return reflect.DeepEqual(x, y) }) && sameLimits(a.Limits, b.Limits)
}

func sameLimits(a, b []LimitsBody) bool {
	return slices.EqualFunc(a, b, func(a, b LimitsBody) bool {
		return a.Ref == b.Ref && a.Version == b.Version && slices.Equal(a.Limits, b.Limits)
	})
}

func sameAnswers(a, b *AnswersFrame) bool {
	return a.Dequeued == b.Dequeued && slices.Equal(a.Answers, b.Answers)
}

func sameCall(a, b Call) bool {
	return a.Number == b.Number && a.Method == b.Method && slices.Equal(a.Body, b.Body)
}

// hundredChecks is an ordinary frame of a busy stream: no new limits.
func hundredChecks() *ChecksFrame {
	f := &ChecksFrame{Epoch: 7}
	for i := range uint64(100) {
		f.Checks = append(f.Checks, Check{
			Number: i, ID: bucket.ID{Hi: i << 32, Lo: ^i}, Limits: uint32(i % 3), Cost: 1,
			Within: 12 * time.Millisecond,
		})
	}
	return f
}

func hundredAnswers() *AnswersFrame {
	f := &AnswersFrame{Dequeued: 3}
	for i := range uint64(100) {
		f.Answers = append(f.Answers, Answer{
			Number: i,
			Decision: bucket.Decision{
				Allowed: i%2 == 0, Remaining: int64(i), ResetAfter: time.Duration(i) * time.Second,
			},
		})
	}
	return f
}

// show prints what two values differ in well enough to find it.
func show(got, want any) string { return fmt.Sprintf("got  %+v\nwant %+v", got, want) }
