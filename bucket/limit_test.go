package bucket_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		limit bucket.Limit
		want  string // "" if valid
	}{
		{bucket.Limit{}, ""},
		{bucket.Limit{Burst: bucket.MaxTokens}, ""},
		{bucket.Limit{Count: bucket.MaxTokens, Per: 1, Burst: bucket.MaxTokens}, ""},
		{bucket.Limit{Count: 1, Per: math.MaxInt64}, ""},
		{bucket.Limit{Count: -1, Per: time.Second}, "invalid limit: count -1, want 0 to 9007199254740992"},
		{bucket.Limit{Count: bucket.MaxTokens + 1, Per: 1},
			"invalid limit: count 9007199254740993, want 0 to 9007199254740992"},
		{bucket.Limit{Count: 10}, "invalid limit: 10 tokens per 0s, want a period above zero"},
		{bucket.Limit{Per: -time.Second}, "invalid limit: 0 tokens per -1s, want a period above zero"},
		{bucket.Limit{Burst: -1}, "invalid limit: burst -1, want 0 to 9007199254740992"},
		{bucket.Limit{Burst: bucket.MaxTokens + 1}, "invalid limit: burst 9007199254740993, want 0 to 9007199254740992"},
	} {
		err := c.limit.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v, want no error", c.limit, err)
		case c.want != "" && (!errors.Is(err, bucket.ErrInvalidLimit) || err.Error() != c.want):
			t.Errorf("%+v: %v, want %s", c.limit, err, c.want)
		}
	}
}

func TestReducedByExample(t *testing.T) {
	for _, c := range []struct{ limit, want bucket.Limit }{
		{bucket.Limit{Count: 600, Per: time.Minute, Burst: 7}, bucket.Limit{Count: 1, Per: 100 * ms, Burst: 7}},
		{bucket.Limit{Count: 0, Per: time.Minute, Burst: 7}, bucket.Limit{Burst: 7}},
		{bucket.Limit{Count: 1_000_000_001, Per: sec, Burst: 7}, bucket.Limit{Count: 1_000_000_001, Per: sec, Burst: 7}},
	} {
		if got := c.limit.Reduced(); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.limit, got, c.want)
		}
	}
}

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		limit bucket.Limit
		want  time.Duration
	}{
		{perSecond(10, 100), 10 * sec},
		{perSecond(3, 1), 333_333_334},
		{perSecond(0, 5), 0},
		{perSecond(5, 0), 0},
		{bucket.Limit{Count: 1, Per: math.MaxInt64, Burst: 1}, math.MaxInt64},
		{bucket.Limit{Count: 1, Per: math.MaxInt64, Burst: bucket.MaxTokens}, math.MaxInt64}, // saturated
	} {
		if got := c.limit.Window(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.limit, got, c.want)
		}
	}
}

func TestIDBytes(t *testing.T) {
	id := bucket.ID{Hi: 0x0102030405060708, Lo: 0x090a0b0c0d0e0f10}
	want := [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	if got := id.Bytes(); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
