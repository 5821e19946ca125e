package sim

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
	"github.com/drossel-dev/drossel/transport"
)

// recorder is a stream that keeps what is sent.
type recorder struct {
	mu     sync.Mutex
	frames [][]byte
}

func (r *recorder) Recv() ([]byte, error) { return nil, io.EOF }

func (r *recorder) Send(frame []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, slices.Clone(frame))
	return nil
}

// tells returns what was sent: of each frame how many limits, and the numbers of its requests or grants.
func (r *recorder) tells(t *testing.T) (frames []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, frame := range r.frames {
		var leases transport.LeasesFrame
		var grants transport.GrantsFrame
		var numbers []uint64
		if transport.IsLeases(frame) {
			if err := transport.DecodeLeases(frame, &leases); err != nil {
				t.Fatal(err)
			}
			for _, q := range leases.Requests {
				numbers = append(numbers, q.Number.Seq)
			}
			frames = append(frames, fmt.Sprint(len(leases.Limits), numbers))
			continue
		}
		if err := transport.DecodeGrants(frame, &grants); err != nil {
			t.Fatal(err)
		}
		for _, g := range grants.Grants {
			numbers = append(numbers, g.Number.Seq)
		}
		frames = append(frames, fmt.Sprint("grants ", numbers))
	}
	return frames
}

// TestMessagesMeetTheirFate sends two requests with limits that are new, one without, and two grants through the tap.
func TestMessagesMeetTheirFate(t *testing.T) {
	limits := []transport.LimitsBody{{Ref: 0, Limits: []bucket.Limit{{Count: 1, Per: time.Second, Burst: 1}}}}
	request := func(seq uint64) transport.LeaseRequest {
		return transport.LeaseRequest{Request: lease.Request{Number: lease.Number{Seq: seq}}}
	}
	grant := func(seq uint64) transport.Grant {
		return transport.Grant{Answer: lease.Answer{Number: lease.Number{Seq: seq}}}
	}
	for _, c := range []struct {
		name       string
		fates      fates
		now, later []string
	}{
		{"left alone", fates{}, []string{"1 [1 2]", "0 [3]", "grants [4 5]"}, nil},
		{"lost", fates{loss: 1}, []string{"1 []"}, nil},
		{"late", fates{late: 1, latest: time.Second}, []string{"1 []"},
			[]string{"0 [1]", "0 [2]", "0 [3]", "grants [4]", "grants [5]"}},
		{"twice", fates{twice: 1, latest: time.Second}, []string{"1 [1 2]", "0 [3]", "grants [4 5]"},
			[]string{"0 [1]", "0 [2]", "0 [3]", "grants [4]", "grants [5]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wire := new(recorder)
				tap := &tap{}
				asks := &asking{Stream: wire, tap: tap, fate: c.fates.of(message{kind: "requests"})}
				answers := &answering{Stream: wire, tap: tap, fate: c.fates.of(message{kind: "grants"})}
				for _, f := range []transport.LeasesFrame{
					{Limits: limits, Requests: []transport.LeaseRequest{request(1), request(2)}},
					{Requests: []transport.LeaseRequest{request(3)}},
				} {
					if err := asks.Send(transport.AppendLeases(nil, &f)); err != nil {
						t.Fatal(err)
					}
				}
				f := transport.GrantsFrame{Grants: []transport.Grant{grant(4), grant(5)}}
				if err := answers.Send(transport.AppendGrants(nil, &f)); err != nil {
					t.Fatal(err)
				}
				if got := wire.tells(t); !slices.Equal(got, c.now) {
					t.Errorf("sent at once: %q, want %q", got, c.now)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				got := wire.tells(t)[len(c.now):]
				slices.Sort(got)
				if !slices.Equal(got, c.later) {
					t.Errorf("sent later: %q, want %q in any order", got, c.later)
				}
				if m := tap.messages(); m.requests != 3 || m.checks != 0 {
					t.Errorf("%+v counted, want 3 requests", m)
				}
			})
		})
	}
}
