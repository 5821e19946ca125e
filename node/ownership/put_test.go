package ownership

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func drawPut(t *rapid.T) Put {
	member := func(label string) Member {
		return Member{rapid.StringMatching(`[a-z:.0-9]{1,20}`).Draw(t, label), rapid.Uint64().Draw(t, label+" incarnation")}
	}
	owner := member("owner")
	p := Put{
		Snapshot: Snapshot{
			Partition: rapid.IntRange(0, partitionBound-1).Draw(t, "partition"),
			Claim:     Claim{Epoch{rapid.Uint64().Draw(t, "term"), owner.Incarnation}, owner.ID},
		},
		Stage: rapid.Bool().Draw(t, "stage"), First: rapid.Bool().Draw(t, "first"), Last: rapid.Bool().Draw(t, "last"),
		Blob: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "blob"),
	}
	if p.Stage {
		p.For = member("for")
	} else {
		p.Seq, p.Base = rapid.Uint64().Draw(t, "seq"), rapid.Uint64().Draw(t, "base")
		p.Beat = rapid.Uint64().Draw(t, "beat")
	}
	for range rapid.IntRange(0, 3).Draw(t, "settled") {
		p.Settled = append(p.Settled, Settlement{rapid.StringMatching(`[a-z#]{0,9}`).Draw(t, "debtor"), rapid.Uint64().Draw(t, "seq")})
	}
	return p
}

// TestPutsSurvive: what is decoded is what was encoded, in as many bodies as it takes; and cut short it is refused.
func TestPutsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		puts := rapid.SliceOfN(rapid.Custom(drawPut), 1, 6).Draw(t, "puts")
		most := rapid.IntRange(1, 800).Draw(t, "max")
		var got []Put
		for rest := puts; len(rest) > 0; {
			body, taken := AppendPuts(nil, rest, most)
			if taken < 1 || taken > 1 && len(body) > most {
				t.Fatalf("%d puts in %d bytes of %d", taken, len(body), most)
			}
			some, err := DecodePuts(body)
			if err != nil || len(some) != taken {
				t.Fatalf("%d of %d puts: %v", len(some), taken, err)
			}
			if cut, err := DecodePuts(body[:len(body)-1]); err == nil && len(cut) == taken {
				t.Fatal("a body that was cut is whole")
			} else if err != nil && !errors.Is(err, ErrMessage) {
				t.Fatal(err)
			}
			got, rest = append(got, some...), rest[taken:]
		}
		for i := range got {
			if len(got[i].Blob) == 0 {
				got[i].Blob = puts[i].Blob
			}
			if !reflect.DeepEqual(got[i], puts[i]) {
				t.Fatalf("%+v\nwant %+v", got[i], puts[i])
			}
		}
	})
}

func TestResultsAndGetsSurvive(t *testing.T) {
	want := []PutResult{PutTaken, PutRefused, PutFailed}
	got, err := DecodeResults(AppendResults(nil, want), 3)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for n, b := range map[int][]byte{2: {1, 1, 1}, 3: {1, 1}, 1: {9}} {
		if _, err := DecodeResults(b, n); !errors.Is(err, ErrMessage) {
			t.Errorf("%d of %v: %v", n, b, err)
		}
	}
	c := Copy{Partition: 77, Claim: Claim{Epoch{9, 8}, "n1"}, Seq: 7}
	b := AppendGet(nil, c)
	if got, err := DecodeGet(b); err != nil || got != c {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := DecodeGet(b[:3]); !errors.Is(err, ErrMessage) {
		t.Error(err)
	}
}

func FuzzPuts(f *testing.F) {
	body, _ := AppendPuts(nil, []Put{
		{Snapshot: Snapshot{Partition: 3, Claim: Claim{Epoch{1, 2}, "n1"}, Seq: 4, Base: 3, Beat: 9}, First: true, Blob: []byte("x")},
		{Snapshot: Snapshot{Claim: Claim{Epoch{1, 2}, "n1"}}, Stage: true, Last: true, For: Member{"n2", 5},
			Settled: []Settlement{{"n3#1", 7}}},
	}, 1<<20)
	f.Add(body)
	f.Fuzz(func(t *testing.T, b []byte) {
		puts, err := DecodePuts(b)
		if err != nil {
			return
		}
		again, _ := AppendPuts(nil, puts, 1<<30)
		same, err := DecodePuts(again)
		if len(puts) > 0 && (err != nil || !reflect.DeepEqual(same, puts)) {
			t.Fatalf("%+v\nbecame %+v, %v", puts, same, err)
		}
	})
}
