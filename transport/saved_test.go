package transport

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func FuzzDecodeSaved(f *testing.F) {
	all := []Saved{{Partition: 0, Blob: []byte{}}, {Partition: 1020, Ago: time.Hour, Blob: []byte("groups")}, {Partition: 1 << 24, Ago: 1<<63 - 1, Blob: []byte{0}}}
	b := AppendSaved(nil, all)
	got, err := DecodeSaved(b)
	if diff := cmp.Diff(all, got); diff != "" || err != nil {
		f.Fatal(err, diff)
	}
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := DecodeSaved(b)
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Fatal(err)
			}
			return
		}
		again, err := DecodeSaved(AppendSaved(nil, all))
		if diff := cmp.Diff(all, again); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
	})
}

func TestParts(t *testing.T) {
	for _, parts := range [][]int{nil, {0}, {7, 1020, 3}} {
		got, err := DecodeParts(AppendParts(nil, parts))
		if err != nil || !slices.Equal(got, parts) {
			t.Errorf("%v %v, want %v", got, err, parts)
		}
	}
	for _, b := range [][]byte{{0x80}, {0xff, 0xff, 0xff, 0xff, 0x7f}} {
		if _, err := DecodeParts(b); !errors.Is(err, ErrFrame) {
			t.Errorf("%x: %v, want ErrFrame", b, err)
		}
	}
}
