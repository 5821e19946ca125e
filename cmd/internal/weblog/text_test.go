package weblog

import (
	"strings"
	"testing"
)

func TestPrintable(t *testing.T) {
	for _, test := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 10, ""},
		{"plain", 5, "plain"},
		{"longer", 5, "lo..."},
		{"a\x1b[2Jb", 10, "a?[2Jb"},
		{"bad\xff\r\n\t", 10, "bad????"},
		{"\u202egnp.exe", 10, "?gnp.exe"}, // text that reads backwards
		{"Zürich", 6, "Zürich"},
		{"Zürich!", 6, "Zür..."},
		{"abcd", 0, "..."},
		{"abc", 0, "abc"},
		{strings.Repeat("é", 200), 80, strings.Repeat("é", 77) + "..."},
	} {
		if got := Printable(test.in, test.limit); got != test.want {
			t.Errorf("Printable(%q, %d) = %q, want %q", test.in, test.limit, got, test.want)
		}
	}
}
