package source_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node/source"
)

func TestReporter(t *testing.T) {
	text := func(s string) any { return s }
	trouble := func(kind error, s string) any { return fmt.Errorf("%w: %s", kind, s) }
	large := strings.Repeat("x", policy.MaxTextBytes+1)
	for _, test := range []struct {
		name string
		in   []any
		want []string
	}{
		{"a text once", []any{text("a"), text("a"), text("b"), text("a")}, []string{"a", "b", "a"}},
		{"an empty text is one", []any{text(""), text(""), text("a"), text("")}, []string{"", "a", ""}},
		{"trouble once", []any{trouble(source.ErrUnreachable, "1"), trouble(source.ErrUnreachable, "2")},
			[]string{"out of reach: 1"}},
		{"trouble anew after a text", []any{text("a"), trouble(source.ErrMissing, "1"), text("a"),
			trouble(source.ErrMissing, "2")}, []string{"a", "not there: 1", "<nil>", "not there: 2"}},
		{"other trouble", []any{trouble(source.ErrUnreachable, "1"), trouble(source.ErrMissing, "2"),
			trouble(source.ErrUnreachable, "3")}, []string{"out of reach: 1", "not there: 2", "out of reach: 3"}},
		{"trouble of no kind", []any{errors.New("1"), errors.New("2"), text("a")}, []string{"1", "a"}},
		{"too large", []any{text("a"), text(large), text(large + "x"), text("a"), text("b")},
			[]string{"a", "f is too large: it has more than the 1048576 bytes", "<nil>", "b"}},
		{"as large as may be", []any{text(large[1:])}, []string{large[1:]}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			r := source.NewReporter(func(f source.Found) { got = append(got, string(f.Text)) },
				func(err error) { got = append(got, fmt.Sprint(err)) })
			for _, in := range test.in {
				switch in := in.(type) {
				case string:
					r.Found(source.Found{Name: "f", Text: []byte(in)})
				case error:
					r.Failed(in)
				}
			}
			if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
				t.Errorf("got %.100q, want %.100q", got, test.want)
			}
		})
	}
}

// Found passes on what it is given, and Failed the very error.
func TestReporterPassesOn(t *testing.T) {
	var found source.Found
	var failed error
	r := source.NewReporter(func(f source.Found) { found = f }, func(err error) { failed = err })
	r.Found(source.Found{Name: "f", Text: []byte("a"), Revision: 7})
	r.Failed(source.ErrRefused)
	if found.Name != "f" || string(found.Text) != "a" || found.Revision != 7 || failed != source.ErrRefused {
		t.Errorf("found %+v, failed %v", found, failed)
	}
}
