package api

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// TestMessageIsACopy: the caller may change what he has passed while the message is still on its way.
func TestMessageIsACopy(t *testing.T) {
	req := policy.Request{
		Attributes: map[string]string{"a": "1"}, Costs: map[string]int64{"tokens": 1}, Cost: 3,
		Limit: &bucket.Limit{Count: 1, Per: time.Second, Burst: 5},
	}
	got, err := message(&req)
	if err != nil {
		t.Fatal(err)
	}
	want := proto.CloneOf(got)
	req.Attributes["a"], req.Costs["tokens"], req.Cost, req.Limit.Burst = "2", 2, 4, 6
	if !proto.Equal(got, want) {
		t.Errorf("it has become %v, want %v", got, want)
	}
}

// Whatever a server answers, a client reads a decision in whose ranges everybody else counts, or decides by its rule.
func FuzzReadAnswer(f *testing.F) {
	for _, d := range []*drosselv1.Decision{{}, {Allowed: true, Limit: 10, Remaining: -1}, {DecidedBy: 99}} {
		b, err := proto.Marshal(&drosselv1.Result{Result: &drosselv1.Result_Decision{Decision: d}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0x12, 0x02, 0x08, 0x05})
	f.Fuzz(func(t *testing.T, b []byte) {
		var in drosselv1.Result
		if proto.Unmarshal(b, &in) != nil {
			return
		}
		d, err := read(&in)
		var said *told
		if err != nil {
			if !errors.Is(err, errUndecided) && !errors.As(err, &said) {
				t.Errorf("%v: %v", &in, err)
			}
			return
		}
		if min(d.Limit, d.Remaining, int64(d.RetryAfter), int64(d.ResetAfter), int64(d.Window)) < 0 || d.DecidedBy.String() == "" {
			t.Errorf("%v is read as %+v", &in, d)
		}
	})
}
