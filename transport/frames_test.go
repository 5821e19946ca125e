package transport

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
)

func TestChecksRoundTrip(t *testing.T) {
	var got ChecksFrame // reused, so that what one frame leaves behind cannot leak into the next
	rapid.Check(t, func(t *rapid.T) {
		want := anyChecksFrame().Draw(t, "frame")
		if err := DecodeChecks(AppendChecks(nil, &want), &got); err != nil {
			t.Fatal(err)
		}
		if !sameChecks(&got, &want) {
			t.Fatal(show(got, want))
		}
	})
}

func TestAnswersRoundTrip(t *testing.T) {
	var got AnswersFrame
	rapid.Check(t, func(t *rapid.T) {
		want := anyAnswersFrame().Draw(t, "frame")
		if err := DecodeAnswers(AppendAnswers(nil, &want), &got); err != nil {
			t.Fatal(err)
		}
		if !sameAnswers(&got, &want) {
			t.Fatal(show(got, want))
		}
	})
}

func TestCallReplyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		call := Call{
			Number: rapid.Uint64().Draw(t, "number"),
			Method: Method(rapid.Uint8().Draw(t, "method")),
			Body:   rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
		}
		if got, err := DecodeCall(AppendCall(nil, call)); err != nil || !sameCall(got, call) {
			t.Fatal(err, show(got, call))
		}
		want := Reply{
			Number: rapid.Uint64().Draw(t, "number"),
			Failed: rapid.Bool().Draw(t, "failed"),
			More:   rapid.Bool().Draw(t, "more"),
			Body:   rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
		}
		got, err := DecodeReply(AppendReply(nil, want))
		if err != nil || !bytes.Equal(got.Body, want.Body) {
			t.Fatal(err, show(got, want))
		}
		got.Body, want.Body = nil, nil
		if got.Number != want.Number || got.Failed != want.Failed || got.More != want.More {
			t.Fatal(show(got, want))
		}
	})
}

func TestHelloRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyHello().Draw(t, "hello")
		if got, err := decodeHello(appendHello(nil, want, nonce())); err != nil || got != want {
			t.Fatal(err, show(got, want))
		}
	})
}

func TestWordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
		frame := AppendWord(nil, want)
		if got, err := DecodeWord(frame); err != nil || !IsWord(frame) || !bytes.Equal(got, want) {
			t.Fatal(err, show(got, want))
		}
	})
}

// The largest call, reply and word fit into a frame with the largest number, and one byte more is not read.
func TestLargestBodyFillsAFrame(t *testing.T) {
	for name, c := range map[string]struct {
		largest int
		encode  func(body []byte) []byte
		decode  func(frame []byte) ([]byte, error)
	}{
		"call": {
			MaxCallBody,
			func(b []byte) []byte { return AppendCall(nil, Call{Number: 1<<64 - 1, Method: 255, Body: b}) },
			func(frame []byte) ([]byte, error) { c, err := DecodeCall(frame); return c.Body, err },
		},
		"reply": {
			MaxReplyBody,
			func(b []byte) []byte { return AppendReply(nil, Reply{Number: 1<<64 - 1, More: true, Body: b}) },
			func(frame []byte) ([]byte, error) { p, err := DecodeReply(frame); return p.Body, err },
		},
		"word": {MaxWordBytes, func(b []byte) []byte { return AppendWord(nil, b) }, DecodeWord},
	} {
		frame := c.encode(make([]byte, c.largest))
		if len(frame) > MaxFrameBytes {
			t.Errorf("the largest %s takes %d bytes, a frame holds %d", name, len(frame), MaxFrameBytes)
		}
		if got, err := c.decode(frame); err != nil || len(got) != c.largest {
			t.Errorf("%s: %d bytes and %v, want all", name, len(got), err)
		}
		if _, err := c.decode(c.encode(make([]byte, c.largest+1))); !errors.Is(err, ErrFrame) {
			t.Errorf("a %s of one byte more: %v, want ErrFrame", name, err)
		}
	}
}

// Append functions add to what is there: frames are built in buffers that are reused.
func TestAppendKeepsWhatIsThere(t *testing.T) {
	for name, appended := range map[string]func(b []byte) []byte{
		"checks":  func(b []byte) []byte { return AppendChecks(b, hundredChecks()) },
		"answers": func(b []byte) []byte { return AppendAnswers(b, hundredAnswers()) },
		"leases":  func(b []byte) []byte { return AppendLeases(b, hundredRequests()) },
		"grants":  func(b []byte) []byte { return AppendGrants(b, hundredGrants()) },
		"call":    func(b []byte) []byte { return AppendCall(b, Call{Number: 1, Body: []byte("x")}) },
		"reply":   func(b []byte) []byte { return AppendReply(b, Reply{Body: []byte("x")}) },
		"word":    func(b []byte) []byte { return AppendWord(b, []byte("x")) },
	} {
		if got := appended([]byte("head")); !bytes.Equal(got, append([]byte("head"), appended(nil)...)) {
			t.Errorf("%s: % x", name, got)
		}
	}
}

// A frame cut at any byte is refused, but where an item ends: there it is a shorter frame of the same kind.
func TestCutChecks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := anyChecksFrame().Draw(t, "frame")
		frame := AppendChecks(nil, &whole)
		legal := map[int]int{} // length to number of checks
		for k := range len(whole.Checks) + 1 {
			part := ChecksFrame{Epoch: whole.Epoch, Limits: whole.Limits, Checks: whole.Checks[:k]}
			legal[len(AppendChecks(nil, &part))] = k
		}
		var got ChecksFrame
		for n := range frame {
			err := DecodeChecks(frame[:n], &got)
			k, ok := legal[n]
			want := ChecksFrame{Epoch: whole.Epoch, Limits: whole.Limits, Checks: whole.Checks[:k]}
			switch {
			case !ok && !errors.Is(err, ErrFrame):
				t.Fatalf("cut to %d of %d bytes: %v, want ErrFrame", n, len(frame), err)
			case ok && (err != nil || !sameChecks(&got, &want)):
				t.Fatalf("cut to %d checks: %v\n%s", k, err, show(got, want))
			}
		}
	})
}

func TestCutAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := anyAnswersFrame().Draw(t, "frame")
		frame := AppendAnswers(nil, &whole)
		legal := map[int]int{}
		for k := range len(whole.Answers) + 1 {
			part := AnswersFrame{Dequeued: whole.Dequeued, Answers: whole.Answers[:k]}
			legal[len(AppendAnswers(nil, &part))] = k
		}
		var got AnswersFrame
		for n := range frame {
			err := DecodeAnswers(frame[:n], &got)
			k, ok := legal[n]
			want := AnswersFrame{Dequeued: whole.Dequeued, Answers: whole.Answers[:k]}
			switch {
			case !ok && !errors.Is(err, ErrFrame):
				t.Fatalf("cut to %d of %d bytes: %v, want ErrFrame", n, len(frame), err)
			case ok && (err != nil || !sameAnswers(&got, &want)):
				t.Fatalf("cut to %d answers: %v\n%s", k, err, show(got, want))
			}
		}
	})
}

func TestCutOrExtendedFrames(t *testing.T) {
	decodeCall := func(b []byte) error { _, err := DecodeCall(b); return err }
	decodeReply := func(b []byte) error { _, err := DecodeReply(b); return err }
	for name, c := range map[string]struct {
		frame  []byte
		decode func([]byte) error
	}{
		"call":    {AppendCall(nil, Call{Number: 1 << 40, Method: PutGroups, Body: make([]byte, 200)}), decodeCall},
		"word":    {AppendWord(nil, make([]byte, 200)), func(b []byte) error { return second(DecodeWord(b)) }},
		"reply":   {AppendReply(nil, Reply{Number: 300, Body: bytes.Repeat([]byte("x"), 200)}), decodeReply},
		"refusal": {appendBytes([]byte{byte(typeRefusal)}, "no"), refusal},
	} {
		for n := 1; n < len(c.frame); n++ {
			if err := c.decode(c.frame[:n]); !errors.Is(err, ErrFrame) {
				t.Errorf("%s cut to %d of %d bytes: %v, want ErrFrame", name, n, len(c.frame), err)
			}
		}
		if err := c.decode(append(bytes.Clone(c.frame), 0)); !errors.Is(err, ErrFrame) {
			t.Errorf("%s with a byte too many: %v, want ErrFrame", name, err)
		}
	}
}

// A hello cut anywhere is malformed; what a later version adds behind it is skipped.
func TestCutOrExtendedHello(t *testing.T) {
	want := Hello{ID: "n1x", Boot: 9, Label: "test", Fingerprint: "fp", MinVersion: 3, MaxVersion: 5, Kind: Bulk}
	frame := appendHello(nil, want, nonce())
	for n := range frame {
		if _, err := decodeHello(frame[:n]); !errors.Is(err, ErrFrame) {
			t.Errorf("cut to %d of %d bytes: %v, want ErrFrame", n, len(frame), err)
		}
	}
	if got, err := decodeHello(append(frame, "fields of a later version"...)); err != nil || got != want {
		t.Errorf("with fields behind: %v\n%s", err, show(got, want))
	}
}

// Values outside their ranges are refused, not clamped, wherever a wrong one would change a decision.
func TestOutOfRange(t *testing.T) {
	checks := func(f ChecksFrame) error { return DecodeChecks(AppendChecks(nil, &f), new(ChecksFrame)) }
	answers := func(a Answer) error {
		return DecodeAnswers(AppendAnswers(nil, &AnswersFrame{Answers: []Answer{a}}), new(AnswersFrame))
	}
	group := func(ref uint32, limits ...bucket.Limit) error {
		return checks(ChecksFrame{Limits: []LimitsBody{{Ref: ref, Limits: limits}}})
	}
	for name, err := range map[string]error{
		"cost above MaxTokens":   checks(ChecksFrame{Checks: []Check{{Cost: bucket.MaxTokens + 1}}}),
		"negative cost":          checks(ChecksFrame{Checks: []Check{{Cost: -1}}}),
		"a check's limits":       checks(ChecksFrame{Checks: []Check{{Limits: MaxLimitsRefs}}}),
		"a group's ref":          group(MaxLimitsRefs, bucket.Limit{}),
		"a group of none":        group(1),
		"a group of 17":          group(1, make([]bucket.Limit, 17)...),
		"count above MaxTokens":  group(1, bucket.Limit{Count: bucket.MaxTokens + 1, Per: 1}),
		"count per no time":      group(1, bucket.Limit{Count: 1}),
		"negative per":           group(1, bucket.Limit{Count: 1, Per: -1}),
		"burst above MaxTokens":  group(1, bucket.Limit{Burst: bucket.MaxTokens + 1}),
		"more groups than there": DecodeChecks([]byte{byte(typeChecks), 0, 0, 0, 0, 0, 0, 0, 0, 200}, new(ChecksFrame)),
		"unknown status":         answers(Answer{Status: statuses}),
		"which above 15":         answers(Answer{Which: maxStates}),
		"negative remaining":     answers(Answer{Decision: bucket.Decision{Remaining: -1}}),
		"negative retry after":   answers(Answer{Decision: bucket.Decision{RetryAfter: -1}}),
		"negative reset after":   answers(Answer{Decision: bucket.Decision{ResetAfter: -1}}),
		"a long name":            answers(Answer{By: string(make([]byte, maxNameBytes+1))}),
	} {
		if !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %v, want ErrFrame", name, err)
		}
	}
	// Waiting longer than an hour is waiting for an hour, and more hops than there can be are as many as there can.
	var got ChecksFrame
	f := ChecksFrame{Checks: []Check{{Within: 1<<63 - 1, Hop: MaxHop + 1}}}
	if err := DecodeChecks(AppendChecks(nil, &f), &got); err != nil || got.Checks[0].Within != time.Hour ||
		got.Checks[0].Hop != MaxHop {
		t.Errorf("the longest wait: %+v and %v, want an hour and %d hops", got.Checks, err, MaxHop)
	}
}

// Every decoder refuses every frame of another type.
func TestOtherTypes(t *testing.T) {
	for kind := range 256 {
		frame := []byte{byte(kind), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		for want, err := range map[frameType]error{
			typeChecks:  DecodeChecks(frame, new(ChecksFrame)),
			typeAnswers: DecodeAnswers(frame, new(AnswersFrame)),
			typeLeases:  DecodeLeases(frame, new(LeasesFrame)),
			typeGrants:  DecodeGrants(frame, new(GrantsFrame)),
			typeCall:    second(DecodeCall(frame)),
			typeReply:   second(DecodeReply(frame)),
			typeWord:    second(DecodeWord(frame)),
			typeHello:   second(decodeHello(frame)),
		} {
			if frameType(kind) != want && !errors.Is(err, ErrFrame) {
				t.Errorf("type %d read as %d: %v, want ErrFrame", kind, want, err)
			}
		}
		if IsLeases(frame) != (kind == int(typeLeases)) || IsGrants(frame) != (kind == int(typeGrants)) ||
			IsWord(frame) != (kind == int(typeWord)) {
			t.Errorf("type %d: leases %t, grants %t, word %t", kind, IsLeases(frame), IsGrants(frame), IsWord(frame))
		}
	}
	if IsLeases(nil) || IsGrants(nil) || IsWord(nil) {
		t.Error("an empty frame is taken for leases, grants or a word")
	}
}

func second[T any](_ T, err error) error { return err }
