package transport

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/drossel-dev/drossel/bucket"
)

// heldPerByte bounds what a decoded frame holds by the length of the frame, so that nobody makes a node keep much by
// sending little. The worst is an answer without a decision: 2 bytes become one Answer, and a slice of a few hundred that
// has just grown has room for more than twice as many.
const heldPerByte = 120

func heldByChecks(f *ChecksFrame) int {
	return cap(f.Checks)*int(unsafe.Sizeof(Check{})) + heldByLimits(f.Limits)
}

func heldByLimits(bodies []LimitsBody) int {
	held := cap(bodies) * int(unsafe.Sizeof(LimitsBody{}))
	for _, l := range bodies {
		held += cap(l.Limits) * int(unsafe.Sizeof(bucket.Limit{}))
	}
	return held
}

func heldByLeases(f *LeasesFrame) int {
	held := cap(f.Requests)*int(unsafe.Sizeof(LeaseRequest{})) + heldByLimits(f.Limits)
	for _, q := range f.Requests {
		held += cap(q.Under) * 8
	}
	return held
}

func heldByGrants(f *GrantsFrame) int { return cap(f.Grants) * int(unsafe.Sizeof(Grant{})) }

func heldByAnswers(f *AnswersFrame) int {
	held := cap(f.Answers) * int(unsafe.Sizeof(Answer{}))
	for _, a := range f.Answers {
		held += len(a.By)
	}
	return held
}

// Decoding an ordinary frame allocates nothing once the slices have grown.
func TestDecodeAllocatesNothing(t *testing.T) {
	checks, answers := AppendChecks(nil, hundredChecks()), AppendAnswers(nil, hundredAnswers())
	leases, grants := AppendLeases(nil, hundredRequests()), AppendGrants(nil, hundredGrants())
	body := make([]byte, 1000)
	call, reply := AppendCall(nil, Call{Number: 1, Body: body}), AppendReply(nil, Reply{Body: body})
	word := AppendWord(nil, body)
	var c ChecksFrame
	var a AnswersFrame
	var l LeasesFrame
	var g GrantsFrame
	for name, decode := range map[string]func() error{
		"checks":  func() error { return DecodeChecks(checks, &c) },
		"answers": func() error { return DecodeAnswers(answers, &a) },
		"leases":  func() error { return DecodeLeases(leases, &l) },
		"grants":  func() error { return DecodeGrants(grants, &g) },
		"call":    func() error { return second(DecodeCall(call)) },
		"reply":   func() error { return second(DecodeReply(reply)) },
		"word":    func() error { return second(DecodeWord(word)) },
	} {
		n := testing.AllocsPerRun(100, func() {
			if err := decode(); err != nil {
				t.Fatal(name, err)
			}
		})
		if n != 0 {
			t.Errorf("decoding %s allocates %v times, want 0", name, n)
		}
	}
	if !sameChecks(&c, hundredChecks()) || !sameAnswers(&a, hundredAnswers()) ||
		!sameLeases(&l, hundredRequests()) || !sameGrants(&g, hundredGrants()) {
		t.Error("what was decoded is not what was sent")
	}
}

// Nor does encoding into a buffer that is large enough.
func TestAppendAllocatesNothing(t *testing.T) {
	b := make([]byte, 0, 16<<10)
	checks, answers, leases, grants := hundredChecks(), hundredAnswers(), hundredRequests(), hundredGrants()
	checks.Limits = []LimitsBody{{Limits: []bucket.Limit{{Burst: 1}, {OwnerLoss: bucket.LossFull}}}}
	payload := make([]byte, 1000)
	for name, encode := range map[string]func(){
		"checks":  func() { AppendChecks(b, checks) },
		"answers": func() { AppendAnswers(b, answers) },
		"leases":  func() { AppendLeases(b, leases) },
		"grants":  func() { AppendGrants(b, grants) },
		"call":    func() { AppendCall(b, Call{Method: PutGroups, Body: payload}) },
		"word":    func() { AppendWord(b, payload) },
	} {
		if n := testing.AllocsPerRun(100, encode); n != 0 {
			t.Errorf("encoding %s allocates %v times, want 0", name, n)
		}
	}
}

// The densest frames of every small length: a slice that has just grown holds the most for its length.
func TestWhatASmallFrameHoldsIsBounded(t *testing.T) {
	frame := []byte{byte(typeAnswers), 0}
	worst := 0
	for len(frame) < 4096 {
		frame = append(frame, byte(Full), 0)
		var got AnswersFrame
		if err := DecodeAnswers(frame, &got); err != nil {
			t.Fatal(err)
		}
		held := heldByAnswers(&got)
		if held > heldPerByte*len(frame) {
			t.Errorf("%d bytes hold %d", len(frame), held)
		}
		worst = max(worst, held/len(frame))
	}
	t.Logf("a byte holds %d at most", worst)
}

// The densest frames of the largest size: what is allocated on the way, garbage included, stays a fixed multiple of
// what was sent.
func TestDecodeOfADenseFrameIsBounded(t *testing.T) {
	fill := func(head, item []byte) []byte {
		for len(head)+len(item) <= MaxFrameBytes {
			head = append(head, item...)
		}
		return head
	}
	checks := func(b []byte) error { return DecodeChecks(b, new(ChecksFrame)) }
	noLimits := AppendChecks(nil, &ChecksFrame{})
	oneLimit := []byte{0, 1, 0, 0, 0}
	for name, c := range map[string]struct {
		frame  []byte
		decode func([]byte) error
		fails  bool
	}{
		"answers": {
			frame:  fill([]byte{byte(typeAnswers), 0}, []byte{byte(Full), 0}),
			decode: func(b []byte) error { return DecodeAnswers(b, new(AnswersFrame)) },
		},
		"checks": {frame: fill(noLimits, make([]byte, 21)), decode: checks},
		"leases": {
			frame:  fill([]byte{byte(typeLeases), 0}, make([]byte, 21)),
			decode: func(b []byte) error { return DecodeLeases(b, new(LeasesFrame)) },
		},
		"leases of 16 states": {
			frame: fill([]byte{byte(typeLeases), 0},
				append(append([]byte{requestUnder}, make([]byte, 20)...), append([]byte{16}, make([]byte, 16)...)...)),
			decode: func(b []byte) error { return DecodeLeases(b, new(LeasesFrame)) },
		},
		"grants": {
			frame:  fill([]byte{byte(typeGrants)}, make([]byte, 18)),
			decode: func(b []byte) error { return DecodeGrants(b, new(GrantsFrame)) },
		},
		// It claims more groups than there are and fails at the end, having decoded all of them.
		"limits": {frame: fill(append(noLimits[:9:9], 0xff, 0xff, 0xff, 0x7f), oneLimit), decode: checks, fails: true},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.decode(c.frame)
		runtime.ReadMemStats(&after)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		if times := (after.TotalAlloc - before.TotalAlloc) / uint64(len(c.frame)); times > 4*heldPerByte {
			t.Errorf("%s: decoding %d bytes allocates %d times as many", name, len(c.frame), times)
		} else {
			t.Logf("%s: decoding %d bytes allocates %d times as many", name, len(c.frame), times)
		}
	}
}
