package file

import (
	"errors"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/node/source"
)

// What counts, of readings that are settle apart. "-" is a file that is missing.
func TestSteady(t *testing.T) {
	for _, test := range []struct{ name, read, counts string }{
		{"found at the second look", "a a a", ". a ."},
		{"empty at first, and stays so", "'' '' ''", ". '' ."},
		{"empty for a moment", "a a '' b b", ". a . . b"},
		{"empty for a moment, then as before", "a a '' a a", ". a . . ."},
		{"empty and stays so", "a a '' '' ''", ". a . '' ."},
		{"half written", "a a b bc bcd bcd", ". a . . . bcd"},
		{"missing for a moment", "a a - b b", ". a . . b"},
		{"missing", "a a - - - a a b b", ". a . - . . a . b"},
		{"never still", "a b c d a b", ". . . . . ."},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s steady
			var got []string
			for text := range strings.FieldsSeq(test.read) {
				now := reading{looked: true, found: source.Found{Text: []byte(strings.Trim(text, "'"))}}
				if text == "-" {
					now = reading{looked: true, err: errors.New("missing")}
				}
				if s.look(now) != news {
					text = "."
				}
				got = append(got, text)
			}
			if got := strings.Join(got, " "); got != test.counts {
				t.Errorf("read %s: got %s, want %s", test.read, got, test.counts)
			}
		})
	}
}
