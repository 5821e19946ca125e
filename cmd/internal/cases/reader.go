package cases

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// reader is one way through a text.
type reader struct {
	file string
	err  ParseError
}

func (r *reader) wrong(n *yaml.Node, format string, args ...any) {
	r.wrongAt(n.Line, n.Column, format, args...)
}

func (r *reader) wrongAt(line, column int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.err.Problems = append(r.err.Problems, policy.Problem{File: r.file, Line: line, Column: column, Text: text})
}

// document returns the one document of a text, or nil.
func (r *reader) document(text []byte) *yaml.Node {
	if len(text) > MaxTextBytes {
		r.wrongAt(1, 1, "the text has %d bytes, want at most %d", len(text), MaxTextBytes)
		return nil
	}
	documents := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := documents.Decode(&first); {
	case errors.Is(err, io.EOF) || err == nil && isNull(first.Content[0]):
		r.wrongAt(1, 1, "there is nothing in it: want policies and cases")
		return nil
	case err != nil:
		r.notYAML(err)
		return nil
	}
	switch err := documents.Decode(&second); {
	case err == nil:
		r.wrong(&second, "a second document starts here: want one")
	case !errors.Is(err, io.EOF):
		r.notYAML(err)
		return nil
	}
	r.plainOnly(first.Content[0])
	if len(r.err.Problems) > 0 {
		return nil
	}
	return first.Content[0]
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

// plainOnly refuses what makes one part of the text mean another, as policies do.
func (r *reader) plainOnly(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.wrong(n, "aliases (*%s) are refused: write the value out", n.Value)
		return
	case n.Anchor != "":
		r.wrong(n, "anchors (&%s) are refused: write the value out where it is needed", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.wrong(n, "tags (%s) are refused: leave the tag out", n.Tag)
	}
	for _, c := range n.Content {
		r.plainOnly(c)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

var kinds = map[yaml.Kind]string{yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "a single value"}

// is says whether the node is of a kind, and notes it if not. where begins the message, and want says what is wanted.
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

// mapping calls for each field of a mapping, and notes those that it must not have, have twice, or lack. It is false if n is none.
func (r *reader) mapping(n *yaml.Node, where string, known, required []string, field func(name string, at, value *yaml.Node)) bool {
	if !r.is(n, yaml.MappingNode, where, "fields: "+strings.Join(known, ", ")) {
		return false
	}
	seen, meant := map[string]int{}, map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if !r.isName(name, where) {
			continue
		}
		if line, twice := seen[name.Value]; twice {
			r.wrong(name, "%sfield %s is there twice, first at line %d: leave one out", where, quoted(name.Value), line)
			continue
		}
		seen[name.Value] = name.Line
		if isOneOf(name.Value, known) {
			field(name.Value, name, value)
			continue
		}
		near := nearest(name.Value, known)
		meant[near] = true
		if near != "" {
			r.wrong(name, "%sunknown field %s: did you mean %q?", where, quoted(name.Value), near)
		} else {
			r.wrong(name, "%sunknown field %s: want %s", where, quoted(name.Value), strings.Join(known, ", "))
		}
	}
	for _, name := range required {
		if _, there := seen[name]; !there && !meant[name] {
			r.wrong(n, "%sfield %q is missing", where, name)
		}
	}
	return true
}

// isName says whether a node is text that names something, and notes it if not.
func (r *reader) isName(n *yaml.Node, where string) bool {
	switch {
	case n.ShortTag() == "!!merge":
		r.wrong(n, "%smerge keys (<<) are refused: write the fields out", where)
		return false
	case !r.is(n, yaml.ScalarNode, where, "a name"):
		return false
	case n.ShortTag() != "!!str":
		r.wrong(n, "%s%s is no name: write it in quotes if it is meant as one", where, quoted(n.Value))
		return false
	}
	return true
}
