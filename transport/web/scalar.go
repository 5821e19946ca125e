package web

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// text reads a string. It returns nil for null.
func (w walk) text(where string) (*string, error) {
	tok, err := w.dec.Token()
	if s, ok := tok.(string); ok {
		return &s, err
	}
	return nil, wantedNull(where, "a string", tok, err)
}

// truth reads a boolean. It returns nil for null.
func (w walk) truth(where string) (*bool, error) {
	tok, err := w.dec.Token()
	if b, ok := tok.(bool); ok {
		return &b, err
	}
	return nil, wantedNull(where, "true or false", tok, err)
}

// integer reads a whole number of so many bits, written as a number or as a string of the same characters: clients
// whose numbers are floats write large ones so. It returns nil for null.
func (w walk) integer(where string, bits int) (*int64, error) {
	tok, err := w.dec.Token()
	var digits string
	switch tok := tok.(type) {
	case json.Number:
		digits = tok.String()
	case string:
		digits = tok
	default:
		return nil, wantedNull(where, "a whole number", tok, err)
	}
	n, err := strconv.ParseInt(digits, 10, bits)
	if err != nil || strconv.FormatInt(n, 10) != digits { // one way to write it: no +5, no 007
		return nil, fmt.Errorf("%s: want a whole number from %d to %d, without fraction or exponent, not %s", where,
			int64(-1)<<(bits-1), int64(1)<<(bits-1)-1, quoted(digits))
	}
	return &n, nil
}

// wantedNull returns nil if the token is null, which stands for an absent value, else why it is not what is wanted.
func wantedNull(where, want string, tok json.Token, err error) error {
	if err != nil || tok == nil {
		return err
	}
	return unwanted(where, want, tok)
}

func unwanted(where, want string, tok json.Token) error {
	var got string
	switch tok := tok.(type) {
	case json.Delim:
		got = map[json.Delim]string{'{': "an object", '[': "an array"}[tok]
	case string:
		got = "the string " + quoted(tok)
	case nil:
		got = "null"
	default:
		got = fmt.Sprint(tok)
	}
	if where == "" {
		return fmt.Errorf("want %s, not %s", want, got)
	}
	return fmt.Errorf("%s: want %s, not %s", where, want, got)
}
