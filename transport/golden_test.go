package transport

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// The bytes of one frame of every type, field by field. They are what nodes of other builds send and expect: a change
// here breaks rolling upgrades, so it needs a new frame version.
func TestGoldenBytes(t *testing.T) {
	hello := Hello{ID: "n1", Boot: 42, Label: "test", Fingerprint: "fp", MinVersion: 3, MaxVersion: 4, Kind: Checks}
	checks := ChecksFrame{
		Epoch:  0x0102030405060708,
		Limits: []LimitsBody{{Ref: 300, Limits: []bucket.Limit{{Count: 100, Per: time.Second, Burst: 200}}}},
		Checks: []Check{
			{
				Number: 5, ID: bucket.ID{Hi: 0x1112131415161718, Lo: 0x2122232425262728}, Limits: 300, Cost: 2,
				Within: 12 * time.Millisecond, Look: true, Hop: 1,
			},
			{Number: 6, Cost: 1},
			{Number: 7, Hop: 3},
			{Number: 8, Cost: 4, Refund: true},
		},
	}
	answers := AnswersFrame{
		Dequeued: 7,
		Answers: []Answer{
			{Number: 5, Which: 1, Decision: bucket.Decision{Allowed: true, Remaining: 198, ResetAfter: time.Second}},
			{Number: 128, Status: NotOwner, By: "n2"},
			{Number: 6, Decision: bucket.Decision{}},
			{Number: 8, Decision: bucket.Decision{RetryAfter: 300}},
			{Number: 9, Status: Full},
			{Number: 10, Status: Unreachable},
		},
	}
	var gotChecks ChecksFrame
	var gotAnswers AnswersFrame
	checkGolden(t, []goldenFrame{
		{
			name: "hello",
			golden: `01 44524f5353454c 03 04 01 000102030405060708090a0b0c0d0e0f
				000000000000002a 02 6e31 04 74657374 02 6670`,
			got:     appendHello(nil, hello, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
			decodes: func(b []byte) bool { h, err := decodeHello(b); return err == nil && h == hello },
		},
		{
			name:   "refusal",
			golden: `02 02 6e6f`,
			got:    appendBytes([]byte{byte(typeRefusal)}, "no"),
			decodes: func(b []byte) bool {
				err := refusal(b)
				return err != nil && strings.HasSuffix(err.Error(), ": no")
			},
		},
		{
			// HMAC-SHA256, key "secret", over 08 "accepted" 05 "hello" 06 "answer".
			name:   "proof",
			golden: `03 ` + goldenProof,
			got:    appendProof([]byte("secret"), "accepted", []byte("hello"), []byte("answer")),
			decodes: func(b []byte) bool {
				return checkProof(b, []byte("secret"), "accepted", []byte("hello"), []byte("answer")) == nil
			},
		},
		{
			name: "checks",
			golden: `04 0102030405060708 01 ac02 00 01 00 00 c801 8094ebdc03 64
				03 1112131415161718 2122232425262728 05 ac02 02 e05d
				00 0000000000000000 0000000000000000 06 00 01 00
				06 0000000000000000 0000000000000000 07 00 00 00
				80 0000000000000000 0000000000000000 08 00 04 00`,
			got: AppendChecks(nil, &checks),
			decodes: func(b []byte) bool {
				return DecodeChecks(b, &gotChecks) == nil && sameChecks(&gotChecks, &checks)
			},
		},
		{
			name: "answers",
			golden: `05 07
				08 05 01 c601 00 8094ebdc03
				11 8001 02 6e32
				00 06 00 00 00 00
				00 08 00 00 ac02 00
				02 09
				03 0a`,
			got: AppendAnswers(nil, &answers),
			decodes: func(b []byte) bool {
				return DecodeAnswers(b, &gotAnswers) == nil && sameAnswers(&gotAnswers, &answers)
			},
		},
		{
			name:   "call",
			golden: `06 01 ac02 00`,
			got:    AppendCall(nil, Call{Number: 300, Method: AskStatus}),
			decodes: func(b []byte) bool {
				c, err := DecodeCall(b)
				return err == nil && sameCall(c, Call{Number: 300, Method: AskStatus})
			},
		},
		{
			name:   "call with a body",
			golden: `06 03 07 02 6869`,
			got:    AppendCall(nil, Call{Number: 7, Method: PutGroups, Body: []byte("hi")}),
			decodes: func(b []byte) bool {
				c, err := DecodeCall(b)
				return err == nil && sameCall(c, Call{Number: 7, Method: PutGroups, Body: []byte("hi")})
			},
		},
		{
			name:   "reply",
			golden: `07 03 09 02 6869`,
			got:    AppendReply(nil, Reply{Number: 9, Failed: true, More: true, Body: []byte("hi")}),
			decodes: func(b []byte) bool {
				p, err := DecodeReply(b)
				return err == nil && p.Number == 9 && p.Failed && p.More && string(p.Body) == "hi"
			},
		},
		{
			name:   "word",
			golden: `0a 02 6869`,
			got:    AppendWord(nil, []byte("hi")),
			decodes: func(b []byte) bool {
				payload, err := DecodeWord(b)
				return err == nil && string(payload) == "hi"
			},
		},
		{
			name:   "last reply",
			golden: `07 00 09 00`,
			got:    AppendReply(nil, Reply{Number: 9}),
			decodes: func(b []byte) bool {
				p, err := DecodeReply(b)
				return err == nil && p.Number == 9 && !p.Failed && !p.More && len(p.Body) == 0
			},
		},
	})
}

// goldenFrame is a frame as this build encodes it, and in golden its bytes in hexadecimal, spaced by field.
type goldenFrame struct {
	name, golden string
	got          []byte
	decodes      func(b []byte) bool
}

func checkGolden(t *testing.T, frames []goldenFrame) {
	t.Helper()
	for _, c := range frames {
		want, err := hex.DecodeString(strings.Join(strings.Fields(c.golden), ""))
		if err != nil {
			t.Fatal(c.name, err)
		}
		if !bytes.Equal(c.got, want) {
			t.Errorf("%s: encoded as\n%x, other builds expect\n%x", c.name, c.got, want)
		}
		if !c.decodes(want) {
			t.Errorf("%s: what other builds send is read as something else", c.name)
		}
	}
}

const goldenProof = "9bcd6b5a33c487da693945f4f1a142655d075ffbca0690a19de9b6cd7d0fdb32"
