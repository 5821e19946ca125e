package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// walk reads JSON that is known to be well formed, one value after the other, and refuses what has no place. Its depth
// is that of the types it reads into, whatever the body nests: an unknown field is refused before its value is read.
//
// encoding/json alone would match field names whatever their case, let the last of two equal names win, and read
// fields nobody asked for.
type walk struct{ dec *json.Decoder }

func newWalk(raw []byte) walk {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return walk{dec}
}

// fields says how each field of an object of type T is read.
type fields[T any] map[string]func(w walk, where string, into *T) error

// object reads an object into a new T. It returns nil for null. where names the object in errors, "" the outermost.
func object[T any](w walk, where string, known fields[T]) (*T, error) {
	into := new(T)
	present, err := w.members(where, func(name string) error {
		read, ok := known[name]
		if !ok {
			return fmt.Errorf("unknown field %s, %s", quoted(join(where, name)), meant(name, known))
		}
		return read(w, join(where, name), into)
	})
	if err != nil || !present {
		return nil, err
	}
	return into, nil
}

// table reads an object whose names the caller chose. It returns nil for null.
func table[V any](w walk, where string, read func(w walk, where string) (*V, error)) (map[string]V, error) {
	out := make(map[string]V)
	present, err := w.members(where, func(name string) error {
		v, err := read(w, join(where, name))
		if err == nil && v != nil {
			out[name] = *v
		}
		return err
	})
	if err != nil || !present {
		return nil, err
	}
	return out, nil
}

// members reads an object and calls member at each value. It reports whether there is an object, and not null.
func (w walk) members(where string, member func(name string) error) (bool, error) {
	tok, err := w.dec.Token()
	switch {
	case err != nil:
		return false, err
	case tok == nil:
		return false, nil
	case tok != json.Delim('{'):
		return false, unwanted(where, "an object", tok)
	}
	seen := make(map[string]bool)
	for w.dec.More() {
		tok, err := w.dec.Token()
		if err != nil {
			return false, err
		}
		name, _ := tok.(string) // the decoder lets nothing else be a name
		if seen[name] {
			return false, fmt.Errorf("field %s is given twice", quoted(join(where, name)))
		}
		seen[name] = true
		if err := member(name); err != nil {
			return false, err
		}
	}
	_, err = w.dec.Token() // the closing brace
	return true, err
}

// array reads an array of at most so many values as they stand. It returns nil for null.
func (w walk) array(where string, most int) ([]json.RawMessage, error) {
	tok, err := w.dec.Token()
	switch {
	case err != nil:
		return nil, err
	case tok == nil:
		return nil, nil
	case tok != json.Delim('['):
		return nil, unwanted(where, "an array", tok)
	}
	out := []json.RawMessage{}
	for w.dec.More() {
		if len(out) == most {
			return nil, fmt.Errorf("%s: want at most %d: send several batches", where, most)
		}
		var raw json.RawMessage
		if err := w.dec.Decode(&raw); err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	_, err = w.dec.Token() // the closing bracket
	return out, err
}

// raw reads a value of any kind as it stands.
func (w walk) raw() (raw json.RawMessage, err error) {
	err = w.dec.Decode(&raw)
	return raw, err
}

// meant says which field an unknown one may have meant, or else which there are.
func meant[T any](name string, known fields[T]) string {
	const edits, longest = 2, 32 // names from outside may be as long as the body
	best, distance := "", edits+1
	names := slices.Sorted(maps.Keys(known))
	if len(name) <= longest {
		for _, k := range names {
			if d := levenshtein.ComputeDistance(strings.ToLower(name), k); d < min(distance, len(k)) {
				best, distance = k, d
			}
		}
	}
	if best != "" {
		return "did you mean " + strconv.Quote(best) + "?"
	}
	return "known are " + strings.Join(names, ", ")
}

func join(where, name string) string {
	if where == "" {
		return name
	}
	return where + "." + name
}

// quoted quotes text that came from outside for a message, and keeps the message short.
func quoted(text string) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}
