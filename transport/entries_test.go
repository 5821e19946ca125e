package transport

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEntriesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Entry {
			return Entry{anyID().Draw(t, "id"), rapid.Uint64().Draw(t, "number"), rapid.StringN(0, 100, MaxEntryBytes).Draw(t, "text")}
		})).Draw(t, "entries")
		got, err := DecodeEntries(AppendEntries(nil, want))
		if diff := cmp.Diff(want, got); err != nil || len(want) > 0 && diff != "" {
			t.Fatal(err, diff)
		}
		results := rapid.SliceOf(rapid.Custom(func(t *rapid.T) EntryResult {
			return EntryResult{
				rapid.Uint64().Draw(t, "number"), EntryStatus(rapid.IntRange(0, int(entryStatuses)-1).Draw(t, "status")),
				rapid.Bool().Draw(t, "kept"), rapid.Bool().Draw(t, "copied"),
			}
		})).Draw(t, "results")
		read, err := DecodeEntryResults(AppendEntryResults(nil, results))
		if diff := cmp.Diff(results, read); err != nil || len(results) > 0 && diff != "" {
			t.Fatal(err, diff)
		}
	})
}

func TestEntriesMalformed(t *testing.T) {
	long := Entry{Text: strings.Repeat("x", MaxEntryBytes+1)}
	for name, body := range map[string][]byte{
		"ends in an id":   make([]byte, 15),
		"ends in a text":  append(make([]byte, 17), 5, 'a'),
		"too long a text": AppendEntries(nil, []Entry{long}),
	} {
		if _, err := DecodeEntries(body); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, body := range [][]byte{{0}, {3, 0}, {1 << 6, 0}, {0, 255}} {
		if _, err := DecodeEntryResults(body); !errors.Is(err, ErrFrame) {
			t.Errorf("%x: %v", body, err)
		}
	}
	for _, text := range []string{"", "some", long.Text[1:]} {
		many := make([]Entry, 30_000)
		for i := range many {
			many[i] = Entry{Number: 1<<64 - 1, Text: text}
		}
		n := FitEntries(many)
		if size := len(AppendEntries(nil, many[:n])); size > MaxCallBody || size < MaxCallBody*9/10 {
			t.Errorf("%d entries take %d bytes, a call %d", n, size, MaxCallBody)
		}
		if FitEntries(many[:10]) != 10 || FitEntries(nil) != 0 {
			t.Error("a few do not fit")
		}
	}
}

func FuzzDecodeEntries(f *testing.F) {
	f.Add(AppendEntries(nil, []Entry{{Number: 5, Text: "text"}, {Number: 300}}))
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, err := DecodeEntries(body)
		if err != nil {
			return
		}
		again, err := DecodeEntries(AppendEntries(nil, entries))
		if err != nil || !cmp.Equal(entries, again) {
			t.Fatalf("%v, %v, want %v", again, err, entries)
		}
		if results, err := DecodeEntryResults(body); err == nil {
			if b := AppendEntryResults(nil, results); len(b) > len(body) || len(b) == len(body) && !bytes.Equal(b, body) {
				t.Fatalf("%x is written as %x", body, b)
			}
		}
	})
}
