package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// applyFile sets the flags that the file names, and returns all that is wrong with it.
func applyFile(flags *pflag.FlagSet, from Sources) []error {
	file := from.File
	decoder := yaml.NewDecoder(bytes.NewReader(from.Text))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return []error{&Mistake{Where: file, What: strings.TrimPrefix(err.Error(), "yaml: ")}}
	}
	r := reader{flags: flags, file: file, names: settable(flags), elsewhere: from.Elsewhere, seen: map[string]int{}}
	r.mapping(doc.Content[0])
	if err := decoder.Decode(&more); err == nil {
		r.wrong(&more, "a second document; all settings go into one")
	} else if !errors.Is(err, io.EOF) {
		r.mistakes = append(r.mistakes, &Mistake{Where: file, What: strings.TrimPrefix(err.Error(), "yaml: ")})
	}
	return r.mistakes
}

// reader is one way through a file.
type reader struct {
	flags     *pflag.FlagSet
	file      string
	names     []string       // what may be set
	elsewhere []string       // what other commands take
	seen      map[string]int // the line of each setting so far
	mistakes  []error
}

func (r *reader) wrong(at *yaml.Node, format string, args ...any) {
	where := fmt.Sprintf("%s:%d:%d", r.file, at.Line, at.Column)
	r.mistakes = append(r.mistakes, &Mistake{Where: where, What: fmt.Sprintf(format, args...)})
}

func (r *reader) mapping(root *yaml.Node) {
	if isNull(root) { // only comments, say
		return
	}
	if root.Kind != yaml.MappingNode {
		r.wrong(root, "want a mapping of settings, each NAME: VALUE")
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		r.setting(root.Content[i], root.Content[i+1])
	}
}

func (r *reader) setting(key, value *yaml.Node) {
	if key.Kind != yaml.ScalarNode {
		r.wrong(key, "want the name of a setting")
		return
	}
	name := key.Value
	if slices.Contains(reserved, name) {
		r.wrong(key, "%s can't be set in a file; give --%s on the command line", name, name)
		return
	}
	if !slices.Contains(r.names, name) {
		if slices.Contains(r.elsewhere, name) {
			return
		}
		r.wrong(key, "unknown setting %q%s", clip(name), orDidYouMean(name, r.names))
		return
	}
	if line, twice := r.seen[name]; twice {
		r.wrong(key, "%s is set twice, first on line %d", name, line)
		return
	}
	r.seen[name] = key.Line
	r.value(r.flags.Lookup(name), value)
}

func (r *reader) value(f *pflag.Flag, value *yaml.Node) {
	at := value
	value = resolved(value)
	switch {
	case isNull(value):
		r.wrong(at, "%s has no value; give one, or leave the line out", f.Name)
	case value.Kind == yaml.ScalarNode:
		values, err := items(f, value.Value)
		if err == nil {
			err = set(f, values)
		}
		if err != nil {
			r.wrong(at, "%s", wanted(f, value.Value, err))
		}
	case value.Kind == yaml.SequenceNode && isList(f):
		r.list(f, value)
	case value.Kind == yaml.SequenceNode:
		r.wrong(at, "%s takes one value, not a list", f.Name)
	default:
		r.wrong(at, "%s takes a value, not a mapping", f.Name)
	}
}

// list tries each item by itself, so that all the wrong ones are found, before it sets them together.
func (r *reader) list(f *pflag.Flag, list *yaml.Node) {
	before := len(r.mistakes)
	var values []string
	for _, at := range list.Content {
		item := resolved(at)
		if item.Kind != yaml.ScalarNode || isNull(item) {
			r.wrong(at, "%s takes a list of single values", f.Name)
			continue
		}
		if err := set(f, []string{item.Value}); err != nil {
			r.wrong(at, "%s", wanted(f, item.Value, err))
		}
		values = append(values, item.Value)
	}
	if len(r.mistakes) > before {
		return
	}
	if err := set(f, values); err != nil {
		r.wrong(list, "%s", wanted(f, strings.Join(values, ","), err))
	}
}

// resolved returns what an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
