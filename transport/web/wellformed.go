package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// wellFormed says what is wrong with a body as JSON: no value, a wrong character, something after the value, or text
// that is not Unicode. The decoder would put the same replacement character for all broken text, and keys that differ
// would share a bucket.
func wellFormed(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return errors.New("the body is empty: want a JSON object")
	}
	if !utf8.Valid(body) {
		return errors.New("the body is not UTF-8: a key of other bytes goes into key_base64")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("the body is not JSON: byte %d: %w", syntax.Offset, err)
		}
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	return paired(body)
}

// paired refuses an escape that is half a character: \ud83d without its second half. The body is valid JSON, so a
// backslash is within a string and begins a whole escape.
func paired(body []byte) error {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		first, ok := escaped(body[i:])
		if !ok {
			i++ // a short escape
			continue
		}
		at := i
		i += 5
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, ok := escaped(body[i+1:])
		if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
			return fmt.Errorf("byte %d: %s is half a character: a key of other bytes goes into key_base64", at+1,
				body[at:at+6])
		}
		i += 6
	}
	return nil
}

// escaped returns the 16 bits of the escape \uXXXX that text begins with, if it does.
func escaped(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}
