package ownership

import (
	"errors"
	"reflect"
	"testing"
)

// It holds of every message whatever its bytes: it is refused with ErrMessage, or read as something that encodes to
// bytes that are read as the same; and what it makes the reader keep is bounded by its length.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(Append(nil, heartbeat340()))
	f.Add(Append(nil, &ListIs{}))
	for _, c := range everyType() {
		f.Add(unhex(f, c.golden))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrMessage) || got != nil {
				t.Error(got, err)
			}
			return
		}
		if n := kept(got); n > len(b) {
			t.Errorf("%d bytes keep %d entries: %+v", len(b), n, got)
		}
		again, err := Decode(Append(nil, got))
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("got %+v, and encoded and decoded again %+v, %v", got, again, err)
		}
	})
}

// kept counts the entries that a message has room for.
func kept(m Message) (n int) {
	if l, ok := m.(*ListIs); ok {
		return len(l.List.added) + len(l.List.removed)
	}
	fields := reflect.ValueOf(m).Elem()
	for i := range fields.NumField() {
		if field := fields.Field(i); field.Kind() == reflect.Slice {
			n += field.Cap()
		}
	}
	return n
}
