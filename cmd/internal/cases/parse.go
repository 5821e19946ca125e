package cases

import (
	"fmt"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket/policy"
)

var (
	fileFields = []string{"policies", "start", "cases"}
	caseFields = []string{"name", "start", "attributes", "steps"}
)

// Parse reads a file of cases from YAML, as the package says. name is the name of the file, and is only used in messages. Reading is
// strict: an unknown or repeated field, an anchor, alias, tag or merge key is an error.
//
// The error is a *ParseError that holds all that is wrong, with line and column. Of text that is not YAML it holds the first place
// only, for the rest cannot be read. Whether there are such policies is found out when the cases run.
func Parse(name string, text []byte) (*File, error) {
	r := &reader{file: name}
	f := &File{Name: name}
	if n := r.document(text); n != nil {
		r.top(n, f)
	}
	if len(r.err.Problems) > 0 {
		r.err.sort()
		return nil, &r.err
	}
	return f, nil
}

// top reads the whole document.
func (r *reader) top(n *yaml.Node, f *File) {
	start := defaultStart
	var list *yaml.Node
	r.mapping(n, "", fileFields, []string{"policies", "cases"}, func(name string, _, v *yaml.Node) {
		switch name {
		case "policies":
			if r.is(v, yaml.ScalarNode, "policies: ", "the file of policies, such as limits.yaml") {
				f.Policies = v.Value
				f.At = policy.Problem{File: r.file, Line: v.Line, Column: v.Column}
			}
			if f.Policies == "" && !isNull(v) && v.Kind == yaml.ScalarNode {
				r.wrong(v, "policies: nothing here: want the file of policies, such as limits.yaml")
			}
		case "start":
			start = r.instant(v, "start: ")
		case "cases":
			list = v
		}
	})
	if list == nil || !r.is(list, yaml.SequenceNode, "cases: ", "a list of cases, each with name and steps") {
		return
	}
	if len(list.Content) == 0 {
		r.wrong(list, "cases: none, want at least one")
	}
	lines := map[string]int{}
	for i, v := range list.Content {
		c := r.oneCase(v, i+1, start)
		if line, twice := lines[c.Name]; twice && c.Name != "" {
			r.wrong(v, "case %s is there twice, first at line %d: rename one", quoted(c.Name), line)
		}
		lines[c.Name] = v.Line
		f.Cases = append(f.Cases, c)
	}
}

// oneCase reads a case. number is its place in the file, from 1.
func (r *reader) oneCase(n *yaml.Node, number int, start time.Time) Case {
	c := Case{Line: n.Line, Start: start}
	where := fmt.Sprintf("case %s: ", called(n, number))
	var steps, startAt *yaml.Node
	var attributes map[string]string
	r.mapping(n, where, caseFields, []string{"name", "steps"}, func(name string, _, v *yaml.Node) {
		switch name {
		case "name":
			c.Name = r.title(v, where+"name: ")
		case "start":
			startAt = v
		case "attributes":
			attributes = r.texts(v, where+"attributes: ", "attributes, such as {user: ann}")
		case "steps":
			steps = v
		}
	})
	if startAt != nil {
		c.Start = r.instant(startAt, where+"start: ")
	}
	if steps == nil || !r.is(steps, yaml.SequenceNode, where+"steps: ", "a list of steps, such as [{attributes: {user: ann}, expect: {allowed: true}}]") {
		return c
	}
	if len(steps.Content) == 0 {
		r.wrong(steps, "%ssteps: none, want at least one", where)
	}
	for i, v := range steps.Content {
		before := c.Start
		if i > 0 {
			before, _ = c.Steps[i-1].last()
		}
		c.Steps = append(c.Steps, r.step(v, fmt.Sprintf("%sstep %d: ", where, i+1), c.Start, before, attributes))
	}
	return c
}

// called is what a message calls a case: its name if it has one, else its number.
func called(n *yaml.Node, number int) string {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if name := n.Content[i+1]; n.Content[i].Value == "name" && name.Kind == yaml.ScalarNode && name.Value != "" {
				return quoted(name.Value)
			}
		}
	}
	return strconv.Itoa(number)
}

// title reads the name of a case.
func (r *reader) title(n *yaml.Node, where string) string {
	if !r.is(n, yaml.ScalarNode, where, "a line that says what is tested") {
		return ""
	}
	for i, c := range n.Value {
		if !strconv.IsPrint(c) {
			r.wrong(n, "%s%s has %q at byte %d: want one line of text", where, quoted(n.Value), c, i+1)
			return ""
		}
	}
	if n.Value == "" {
		r.wrong(n, "%snothing here: want a line that says what is tested", where)
	}
	return n.Value
}
