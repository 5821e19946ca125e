package envoyimport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// reader reads files into the trees of their domains, and notes what is wrong with them, and what can't be carried over.
type reader struct {
	file     string
	problems []policy.Problem
	notes    []Note
	domains  []*domain
	read     int // descriptors
	seen     map[place]*descriptor
}

// place is where a descriptor is in the tree.
type place struct {
	level      *[]*descriptor
	key, value string
}

type domain struct {
	name  string
	level []*descriptor
}

func (r *reader) wrong(n *yaml.Node, format string, args ...any) {
	r.wrongAt(n.Line, n.Column, format, args...)
}

func (r *reader) wrongAt(line, column int, format string, args ...any) {
	r.problems = append(r.problems, policy.Problem{File: r.file, Line: line, Column: column, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) note(n *yaml.Node, decides bool, field, text string) {
	r.notes = append(r.notes, Note{r.file, n.Line, field, text, decides})
}

// document returns the one document of a text, or nil.
func (r *reader) document(text []byte) *yaml.Node {
	documents := yaml.NewDecoder(bytes.NewReader(text))
	var one, second yaml.Node
	switch err := documents.Decode(&one); {
	case errors.Is(err, io.EOF) || err == nil && isNull(one.Content[0]):
		r.wrongAt(1, 1, "there is nothing in it: want domain and descriptors")
		return nil
	case err != nil:
		r.notYAML(err)
		return nil
	}
	switch err := documents.Decode(&second); {
	case err == nil:
		r.wrong(&second, "a second document starts here, which Envoy's service does not read: write a file for each domain")
	case !errors.Is(err, io.EOF):
		r.notYAML(err)
	}
	return one.Content[0]
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// notYAML notes an error of the YAML reader, which knows a line at best.
func (r *reader) notYAML(err error) {
	line, text := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits only
		text = err.Error()[len(m[0]):]
	}
	r.wrongAt(max(line, 1), 1, "not YAML, at this line or below: %s", text)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// resolved is what a node is, or stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

var kinds = map[yaml.Kind]string{yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "a single value"}

// is says whether the node is of a kind, and notes it if not.
func (r *reader) is(n *yaml.Node, kind yaml.Kind, where, want string) bool {
	switch {
	case n.Kind == kind && !isNull(n):
		return true
	case isNull(n):
		r.wrong(n, "%snothing here: want %s", where, want)
	default:
		r.wrong(n, "%s%s here: want %s", where, kinds[n.Kind], want)
	}
	return false
}

// field is a field of a mapping: its name, and what it is.
type field struct{ at, value *yaml.Node }

// mapping returns the fields of a mapping, with those that are merged into it, or nil. Of fields that are known elsewhere it is noted that
// they are idle here, as they are for Envoy's service.
func (r *reader) mapping(n *yaml.Node, where string, known []string) map[string]field {
	if !r.is(n, yaml.MappingNode, where, "fields: "+strings.Join(known, ", ")) {
		return nil
	}
	fields := map[string]field{}
	r.fields(n, where, known, fields, 0)
	return fields
}

// maxMerges is how deep mappings may be merged into each other.
const maxMerges = 8

func (r *reader) fields(n *yaml.Node, where string, known []string, fields map[string]field, depth int) {
	var merged []*yaml.Node
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := resolved(n.Content[i]), resolved(n.Content[i+1])
		switch {
		case name.ShortTag() == "!!merge":
			merged = append(merged, value)
			continue
		case !r.is(name, yaml.ScalarNode, where, "the name of a field"):
			continue
		case lines[name.Value] > 0:
			r.wrong(name, "%sfield %s is there twice, first at line %d: leave one out", where, quoted(name.Value), lines[name.Value])
			continue
		}
		lines[name.Value] = name.Line
		if slices.Contains(known, name.Value) {
			if _, own := fields[name.Value]; !own {
				fields[name.Value] = field{name, value}
			}
			continue
		}
		switch near := nearest(name.Value, known); {
		case slices.Contains(allFields, name.Value):
			r.note(name, false, name.Value, "Envoy's service reads it, but not here, where it does nothing: move it if it is meant")
		case near != "":
			r.wrong(name, "%sunknown field %s: did you mean %q?", where, quoted(name.Value), near)
		default:
			r.wrong(name, "%sunknown field %s: want %s", where, quoted(name.Value), strings.Join(known, ", "))
		}
	}
	for _, m := range merged {
		all := []*yaml.Node{m}
		if m.Kind == yaml.SequenceNode {
			all = m.Content
		}
		for _, one := range all {
			if one = resolved(one); depth == maxMerges {
				r.wrong(one, "%smappings merged into each other more than %d deep: write the fields out", where, maxMerges)
			} else if r.is(one, yaml.MappingNode, where+"<<: ", "a mapping to merge") {
				r.fields(one, where, known, fields, depth+1)
			}
		}
	}
}

// text reads a single value as the text that it is written as. Nothing is "".
func (r *reader) text(f field, where string) string {
	if f.value == nil || isNull(f.value) || !r.is(f.value, yaml.ScalarNode, where, "a single value") {
		return ""
	}
	return f.value.Value
}

// yes reads true or false. Nothing is false.
func (r *reader) yes(f field, where string) (yes bool) {
	if f.value == nil || isNull(f.value) || !r.is(f.value, yaml.ScalarNode, where, "true or false") {
		return false
	}
	if f.value.Decode(&yes) != nil {
		r.wrong(f.value, "%s%s: want true or false", where, quoted(f.value.Value))
	}
	return yes
}

// nearest returns the known word that a mistyped one may have meant, or "".
func nearest(text string, known []string) (near string) {
	const edits = 2 // a swap of neighbours counts as two
	least := min(edits, len(text)-1) + 1
	for _, word := range known {
		if max(len(word)-len(text), len(text)-len(word)) > edits {
			continue
		}
		if d := levenshtein.ComputeDistance(text, word); d < min(least, len(word)) {
			near, least = word, d
		}
	}
	return near
}

// quoted quotes text for a message, and keeps the message short.
func quoted(text string) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}
