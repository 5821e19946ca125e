package ring

import (
	"errors"
	"slices"
	"testing"
)

// oneSpot hashes everything onto one point: the member placed last then has the only one, and the library panics
// because the others' share finds no room.
type oneSpot struct{}

func (oneSpot) Sum64([]byte) uint64 { return 7 }

func TestPanicOfTheLibraryIsAnError(t *testing.T) {
	list := []Member{{ID: "a", State: Active}, {ID: "b", State: Active}, {ID: "c", State: Active}}
	b, err := NewBuilder(Params{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.Place(list[:2])
	if err != nil {
		t.Fatal(err)
	}
	wantNext, err := b.Successors()
	if err != nil {
		t.Fatal(err)
	}

	b.hasher, b.circle = oneSpot{}, nil
	if r, err := b.Place(list); r != nil || !errors.Is(err, ErrPlacement) {
		t.Errorf("Place: got %v, %v, want ErrPlacement", r, err)
	}
	if next, err := b.Successors(); next != nil || !errors.Is(err, ErrPlacement) {
		t.Errorf("Successors: got %v, %v, want ErrPlacement", next, err)
	}

	b.hasher = hasher{}
	if next, err := b.Successors(); err != nil || !slices.Equal(next, wantNext) {
		t.Errorf("after the failure the successors of the last ring are %v, %v, want %v", next, err, wantNext)
	}
	if got, err := b.Place(list[:2]); err != nil || !slices.Equal(got.owners, want.owners) {
		t.Errorf("after the failure the owners are %v, %v, want %v", got, err, want.owners)
	}
}
