package transport

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// The fuzz targets hold of every frame whatever its bytes: it is refused with ErrFrame, or read as something that
// encodes to a frame that is read as the same; and what it makes the reader keep is bounded by its length.

func FuzzDecodeChecks(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendChecks(nil, &ChecksFrame{}))
	f.Add(AppendChecks(nil, hundredChecks()))
	f.Add(AppendChecks(nil, &ChecksFrame{
		Limits: []LimitsBody{
			{Ref: 1, Limits: []bucket.Limit{{Count: 1, Per: 1, Burst: 1}, {}}},
			{Ref: 300, Limits: make([]bucket.Limit, 16)},
			{Limits: []bucket.Limit{{OwnerLoss: bucket.LossEmpty}, {OwnerLoss: bucket.LossFull}}},
			{Limits: everyAlgorithm},
		},
		Checks: []Check{{Limits: 1, Look: true}, {Hop: MaxHop, Cost: bucket.MaxTokens}, {
			Leases: true, Demand: lease.Demand{Tokens: maxDemand, Checks: 0.001},
		}, {Cost: 9, Costs: []int64{1, 0, bucket.MaxTokens}}},
	}))
	f.Fuzz(func(t *testing.T, frame []byte) {
		var got, again ChecksFrame
		err := DecodeChecks(frame, &got)
		if held := heldByChecks(&got); held > heldPerByte*len(frame)+1024 {
			t.Errorf("%d bytes hold %d", len(frame), held)
		}
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Error(err)
			}
			return
		}
		if err := DecodeChecks(AppendChecks(nil, &got), &again); err != nil || !sameChecks(&got, &again) {
			t.Error(err, show(again, got))
		}
		for _, c := range got.Checks {
			if c.Cost < 0 || c.Cost > bucket.MaxTokens || c.Limits >= MaxLimitsRefs || c.Within < 0 || c.Hop > MaxHop {
				t.Errorf("%+v is out of range", c)
			}
			inRange(t, c.Demand)
		}
		limitsInRange(t, got.Limits)
	})
}

func limitsInRange(t *testing.T, bodies []LimitsBody) {
	t.Helper()
	for _, l := range bodies {
		if len(l.Limits) < 1 || len(l.Limits) > maxStates || l.Ref >= MaxLimitsRefs {
			t.Errorf("%+v is out of range", l)
		}
		for _, l := range l.Limits {
			if err := l.Validate(); err != nil {
				t.Error(err)
			}
		}
	}
}

func inRange(t *testing.T, d lease.Demand) {
	t.Helper()
	if min(d.Tokens, d.Checks) < 0 || max(d.Tokens, d.Checks) > maxDemand {
		t.Errorf("a demand of %+v is out of range", d)
	}
}

func FuzzDecodeAnswers(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendAnswers(nil, &AnswersFrame{}))
	f.Add(AppendAnswers(nil, hundredAnswers()))
	f.Add(AppendAnswers(nil, &AnswersFrame{Answers: []Answer{
		{Number: 1, Status: NotOwner, By: "n2x"}, {Status: Full}, {Status: Unreachable}, {Which: 15},
		{Offer: true}, {Deny: lease.Deny{For: time.Hour, Cost: bucket.MaxTokens}},
	}}))
	f.Fuzz(func(t *testing.T, frame []byte) {
		var got, again AnswersFrame
		err := DecodeAnswers(frame, &got)
		if held := heldByAnswers(&got); held > heldPerByte*len(frame)+1024 {
			t.Errorf("%d bytes hold %d", len(frame), held)
		}
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Error(err)
			}
			return
		}
		if err := DecodeAnswers(AppendAnswers(nil, &got), &again); err != nil || !sameAnswers(&got, &again) {
			t.Error(err, show(again, got))
		}
		for _, a := range got.Answers {
			lowest := min(a.Decision.Remaining, int64(a.Decision.RetryAfter), int64(a.Decision.ResetAfter))
			if a.Status >= statuses || a.Which >= maxStates || lowest < 0 {
				t.Errorf("%+v is out of range", a)
			}
			denyInRange(t, a.Deny)
		}
	})
}

func denyInRange(t *testing.T, d lease.Deny) {
	t.Helper()
	if d.For < 0 || d.For > time.Hour || d.Cost < 0 || d.Cost > bucket.MaxTokens || d.For == 0 && d.Cost != 0 {
		t.Errorf("a deny lease of %+v is out of range", d)
	}
}

func FuzzDecodeCallReply(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendCall(nil, Call{Number: 300, Method: AskStatus}))
	f.Add(AppendCall(nil, Call{Method: GetGroups, Body: []byte("body")}))
	f.Add(AppendReply(nil, Reply{Number: 300, More: true, Body: []byte("body")}))
	f.Add(AppendReply(nil, Reply{Failed: true, Body: []byte("error")}))
	f.Fuzz(func(t *testing.T, frame []byte) {
		if c, err := DecodeCall(frame); err == nil {
			if len(c.Body) > len(frame) {
				t.Errorf("a body of %d bytes in a frame of %d", len(c.Body), len(frame))
			}
			if again, err := DecodeCall(AppendCall(nil, c)); err != nil || !sameCall(again, c) {
				t.Error(err, show(again, c))
			}
		} else if !errors.Is(err, ErrFrame) {
			t.Error(err)
		}
		p, err := DecodeReply(frame)
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Error(err)
			}
			return
		}
		if len(p.Body) > len(frame) {
			t.Errorf("a body of %d bytes in a frame of %d", len(p.Body), len(frame))
		}
		again, err := DecodeReply(AppendReply(nil, p))
		if err != nil || again.Number != p.Number || again.Failed != p.Failed || again.More != p.More ||
			!bytes.Equal(again.Body, p.Body) {
			t.Error(err, show(again, p))
		}
	})
}

func FuzzDecodeWord(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendWord(nil, nil))
	f.Add(AppendWord(nil, []byte("payload")))
	f.Fuzz(func(t *testing.T, frame []byte) {
		payload, err := DecodeWord(frame)
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Error(err)
			}
			return
		}
		if !IsWord(frame) || len(payload) >= len(frame) {
			t.Errorf("%d bytes hold a word of %d", len(frame), len(payload))
		}
		if again, err := DecodeWord(AppendWord(nil, payload)); err != nil || !bytes.Equal(again, payload) {
			t.Error(err, show(again, payload))
		}
	})
}

// Whatever two frames a stranger sends, neither side of a handshake takes him in.
func FuzzHandshake(f *testing.F) {
	own := hello("n1x")
	proof := appendProof([]byte("another secret"), "accepted", nil, nil)
	f.Add([]byte{}, []byte{})
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), []byte{})
	f.Add(appendHello(nil, hello("n2x"), make([]byte, nonceBytes)), proof)
	f.Add(append(appendHello(nil, hello("n2x"), make([]byte, nonceBytes)), "behind"...), proof[:9])
	f.Add(appendBytes([]byte{byte(typeRefusal)}, "no"), []byte{byte(typeProof)})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for side, shake := range bothSides {
			_, err := shake(&script{frames: [][]byte{first, second}}, own, []byte("secret"))
			if !errors.Is(err, ErrFrame) && !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v, want ErrFrame or ErrRefused", side, err)
			}
		}
		h, err := decodeHello(first)
		if err != nil {
			return
		}
		if again, err := decodeHello(appendHello(nil, h, make([]byte, nonceBytes))); err != nil || again != h {
			t.Error(err, show(again, h))
		}
	})
}

// script is a stream whose other side says the same whatever it is sent.
type script struct{ frames [][]byte }

func (s *script) Send([]byte) error { return nil }

func (s *script) Recv() ([]byte, error) {
	if len(s.frames) == 0 {
		return nil, io.EOF
	}
	frame := s.frames[0]
	s.frames = s.frames[1:]
	return frame, nil
}
