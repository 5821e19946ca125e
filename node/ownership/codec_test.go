package ownership

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/ring/gossip"
)

// coded is a message of one type, its bytes, and what draws others of the type.
type coded struct {
	message Message
	golden  string
	drawn   *rapid.Generator[Message]
}

var (
	memberA = Member{"a", 0x0102030405060708}
	memberB = Member{"bb", 0x1112131415161718}
	claimA  = Claim{Epoch{300, memberA.Incarnation}, memberA.ID}
	claimB  = Claim{Epoch{2, memberB.Incarnation}, memberB.ID}
)

// everyType has each type once. The bytes are what nodes of other builds send and expect: a change here breaks rolling
// upgrades.
func everyType() []coded {
	const (
		a = ` 01 61 0102030405060708 `
		b = ` 02 6262 1112131415161718 `
		d = ` 2122232425262728 `
	)
	const digest = 0x2122232425262728
	heirs := []Heir{{0, 300, memberB}, {1, 1, memberA}, {65535, 0, memberB}}
	held := []Held{{4, claimA}, {6, Claim{}}, {7, claimB}, {300, claimA}}
	return []coded{
		{
			&Heartbeat{memberA.Incarnation, 128, Active, true, digest, []Named{
				{0, 1, false, true, Member{}}, {3, 300, true, false, Member{}}, {4, 2, false, false, memberB}, {65535, 0, true, true, Member{}},
			}},
			`01 0102030405060708 8001 82` + d + `04 04 01 11 ac02 02 02` + b + `d5ff1f 00`, drawn[Heartbeat](),
		},
		{&Ack{memberA.Incarnation, 128, held}, `02 02` + a + b + `0102030405060708 8001
			04 04 01 ac02 01 00 00 02 02 a402 01 ac02`, drawn[Ack]()},
		{&LostYou{memberA.Incarnation}, `03 0102030405060708`, drawn[LostYou]()},
		{
			&ListIs{newList(map[string]uint64{"a": memberA.Incarnation, "bb": memberB.Incarnation},
				map[string]removal{"a": {1, 300}})},
			`04 02` + a + b + `01 01 61 0000000000000001 ac02`, drawn[ListIs](),
		},
		{
			&Memory{
				newList(map[string]uint64{"a": memberA.Incarnation}, nil), []Member{memberB}, held,
				Ballot{300, "bb"}, Seconded{Ballot{2, "a"}, Change{memberB, true}},
			},
			`13 01` + a + `00 02` + b + a + `01 01 04 04 02 ac02 01 00 00 01 02 a402 02 ac02 ac02 02 6262 02 01 61` + b + `01`,
			drawn[Memory](),
		},
		{&Who{}, `05`, drawn[Who]()},
		{&NoList{memberA.Incarnation}, `06 0102030405060708`, drawn[NoList]()},
		{&Join{memberA.Incarnation}, `07 0102030405060708`, drawn[Join]()},
		{&Canvass{300, Change{memberA, true}, true, digest}, `14 ac02` + a + `01 01` + d, drawn[Canvass]()},
		{&Promise{Ballot{3, "a"}, Seconded{}, digest}, `15 03 01 61 00` + d, drawn[Promise]()},
		{&Propose{300, Change{memberA, true}, digest}, `08 ac02` + a + `01` + d, drawn[Propose]()},
		{&Second{2, digest}, `09 02` + d, drawn[Second]()},
		{&Ask{Member{}, digest, heirs}, `0a 02` + b + a + `00` + d + `03 00 ac02 01 00 01 02 fdff03 00 01`, drawn[Ask]()},
		{&Confirm{memberA, digest, heirs}, `0b 02` + a + b + `01` + d + `03 00 ac02 02 00 01 01 fdff03 00 02`,
			drawn[Confirm]()},
		{&StillHeard{memberB}, `0c` + b, drawn[StillHeard]()},
		{&Owners{held}, `0d 02` + a + b + `04 04 01 ac02 01 00 00 02 02 a402 01 ac02`, drawn[Owners]()},
		{&Inherit{memberA, heirs[:1]}, `0e 02` + a + b + `01 01 00 ac02 02`, drawn[Inherit]()},
		{&CopiesOf{[]int{0, 1, 300}}, `0f 03 00 00 aa02`, drawn[CopiesOf]()},
		{&Copies{[]Copy{{1, claimB, 300}, {2, Claim{}, 0}, {9, claimB, 7}}},
			`10 01` + b + `03 01 01 02 ac02 00 00 00 06 01 02 07`, drawn[Copies]()},
		{&Prepare{memberA.Incarnation, digest, []int{5}}, `11 0102030405060708` + d + `01 05`, drawn[Prepare]()},
		{&Final{memberB.Incarnation, []Held{{8, claimA}}}, `12 01` + a + `1112131415161718 01 08 01 ac02`, drawn[Final]()},
	}
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// same compares lists by their digests, and takes a slice without entries for none.
var same = cmp.Options{
	cmpopts.EquateEmpty(), cmp.Comparer(func(a, b List) bool { return a.digest == b.digest }),
}

func TestGoldenBytes(t *testing.T) {
	var names []string
	for _, c := range everyType() {
		names = append(names, reflect.TypeOf(c.message).Elem().Name())
		want := unhex(t, c.golden)
		if got := Append([]byte("so far"), c.message); !bytes.Equal(got, append([]byte("so far"), want...)) {
			t.Errorf("%T is encoded as\n%x, other builds expect\n%x", c.message, got[len("so far"):], want)
		}
		got, err := Decode(want)
		if err != nil {
			t.Errorf("%T: %v", c.message, err)
		} else if diff := cmp.Diff(c.message, got, same); diff != "" {
			t.Errorf("%T is read as something else:\n%s", c.message, diff)
		}
	}
	source, err := os.ReadFile("message.go")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, m := range regexp.MustCompile(`func \(\*(\w+)\) message\(\)`).FindAllSubmatch(source, -1) {
		types = append(types, string(m[1]))
	}
	if diff := cmp.Diff(types, names); diff != "" {
		t.Errorf("the types of message.go are not those with golden bytes:\n%s", diff)
	}
}

func TestCutOrLengthened(t *testing.T) {
	for _, c := range everyType() {
		whole := unhex(t, c.golden)
		for n := range whole {
			if m, err := Decode(whole[:n]); m != nil || !errors.Is(err, ErrMessage) {
				t.Errorf("%T cut to %d bytes of %d: got %v, %v", c.message, n, len(whole), m, err)
			}
		}
		m, err := Decode(append(whole, 0))
		if m != nil || !errors.Is(err, ErrMessage) || !strings.Contains(err.Error(), "1 bytes too many") {
			t.Errorf("%T with a byte more: got %v, %v", c.message, m, err)
		}
	}
}

func TestRefused(t *testing.T) {
	const zeros = ` 0000000000000000 `
	long := func(n int) string { return hex.EncodeToString(appendID(nil, strings.Repeat("i", n))) }
	numbered := func(n int) (text string) {
		for i := range n {
			text += hex.EncodeToString(appendMember(nil, Member{ID: fmt.Sprintf("%04d", i)}))
		}
		return text
	}
	tests := []struct{ name, text, want string }{
		{"nothing", ``, "type 0: cut short"},
		{"type 0", `00`, "type 0: unknown"},
		{"a type to come", `16`, "type 22: unknown"},
		{"no state", `01` + zeros + `00 00` + zeros + `00`, "state 0, want 1 to 3"},
		{"a state to come", `01` + zeros + `00 04` + zeros + `00`, "state 4, want 1 to 3"},
		{"partition 65536", `0f 01 808004`, "partition 0 + 65536, want them to ascend below 65536"},
		{"partition 65536 after 65535", `0f 02 ffff03 00`, "partition 65536 + 0, want"},
		{"a gap that would wrap", `0f 02 00 ffffffffffffffffff01`, "partition 1 + 18446744073709551615, want"},
		{"a claim on 65536", `01` + zeros + `00 01` + zeros + `01 808020 00`, "partition 0 + 65536, want"},
		{"more entries than bytes", `0f 03 00 00`, "3 entries in 2 bytes"},
		{"entries beyond all bounds", `0f ffffffffffffffffff01 00`, "18446744073709551615 entries in 1 bytes"},
		{"more claims than bytes", `01` + zeros + `00 01` + zeros + `02 00 00 00`, "2 entries in 3 bytes"},
		{"a number of 11 bytes", `0f ffffffffffffffffffff01`, "a number is cut or too long"},
		{"an empty id", `0c 00` + zeros, "id of 0 bytes, want 1 to 120"},
		{"an id of 121 bytes", `0c ` + long(121) + zeros, "id of 121 bytes, want 1 to 120"},
		{"nobody in a table", `0d 01 00` + zeros + `00 00`, "id of 0 bytes"},
		{"a place beyond the table", `0d 01 01 61` + zeros + `01 00 02 00`, "member 2 of a table of 1"},
		{"an heir who is nobody", `0e 00 00 01 05 00 00`, "partition 5 has nobody for an heir"},
		{"a flag that is none", `08 01 01 61` + zeros + `02` + zeros, "flag 2, want 0 or 1"},
		{"an id listed twice", `04 02 01 61` + zeros + `01 61` + zeros + `00`, `id "a" after "a", want them in order`},
		{"an id removed twice", `04 00 02 01 61` + zeros + `00 01 61` + zeros + `00`, `id "a" after "a"`},
		{"a list of 4097", `04 8120` + numbered(4097) + `00`, "4097 entries in"},
		{
			"a list of 4096 and 1", `04 8020` + numbered(4096) + `01 01 61` + zeros + `00`,
			"1 entries in 11 bytes, want at most 0",
		},
	}
	for _, c := range tests {
		m, err := Decode(unhex(t, c.text))
		if m != nil || !errors.Is(err, ErrMessage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want ErrMessage and %q", c.name, m, err, c.want)
		}
	}
	for _, text := range []string{`0c ` + long(120) + zeros, `04 8020` + numbered(4096) + `00`, `0f 01 ffff03`} {
		if _, err := Decode(unhex(t, text)); err != nil {
			t.Error("at the bound: ", err)
		}
	}
}

// What a receiver would misunderstand it refuses, and what can't be told from nobody is nobody.
func TestAppendOfWhatNoMachineSays(t *testing.T) {
	for _, m := range []Message{
		&CopiesOf{[]int{2, 1}}, &CopiesOf{[]int{1, 1}}, &CopiesOf{[]int{-1}}, &CopiesOf{[]int{1 << 16}},
		&Heartbeat{State: Active, Claims: []Named{{2, 1, true, true, Member{}}, {1, 1, true, true, Member{}}}}, &Heartbeat{},
		&Owners{[]Held{{2, claimA}, {1, claimA}}}, &Copies{[]Copy{{2, claimA, 1}, {2, claimA, 1}}},
		&Inherit{memberA, []Heir{{2, 1, memberA}, {1, 1, memberA}}}, &Inherit{memberA, []Heir{{2, 1, Member{}}}},
		&StillHeard{}, &StillHeard{Member{ID: strings.Repeat("i", 121)}},
	} {
		if got, err := Decode(Append(nil, m)); !errors.Is(err, ErrMessage) {
			t.Errorf("%+v: got %+v, %v, want ErrMessage", m, got, err)
		}
	}
	got, err := Decode(Append(nil, &Owners{[]Held{{Partition: 1, Claim: Claim{Epoch: Epoch{2, 3}}}}}))
	if diff := cmp.Diff(Message(&Owners{[]Held{{Partition: 1}}}), got, same); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got := Append([]byte{7}, nil); !bytes.Equal(got, []byte{7}) {
		t.Errorf("no message is appended as %x", got)
	}
}

// The bounds hold all that a cluster can have.
func TestBoundsOfMessages(t *testing.T) {
	if ring.MaxPartitions > partitionBound {
		t.Errorf("a ring has up to %d partitions, a message names those below %d", ring.MaxPartitions, partitionBound)
	}
	if gossip.MaxIDBytes > maxIDBytes {
		t.Errorf("an id has up to %d bytes, in a message up to %d", gossip.MaxIDBytes, maxIDBytes)
	}
}
