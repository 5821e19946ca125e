package cases

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// text reads a value that is not empty, as it is written.
func (r *reader) text(n *yaml.Node, where, want string) string {
	if !r.is(n, yaml.ScalarNode, where, want) {
		return ""
	}
	if n.Value == "" {
		r.wrong(n, "%snothing here: want %s", where, want)
	}
	return n.Value
}

// texts reads values by name. They may be empty: an attribute that is empty is absent.
func (r *reader) texts(n *yaml.Node, where, want string) map[string]string {
	if !r.is(n, yaml.MappingNode, where, want) {
		return nil
	}
	all := make(map[string]string)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if !r.isName(name, where) {
			continue
		}
		if _, twice := all[name.Value]; twice {
			r.wrong(name, "%s%s is there twice: leave one out", where, quoted(name.Value))
			continue
		}
		all[name.Value] = ""
		if r.is(value, yaml.ScalarNode, where+name.Value+": ", `a value, or "" for none`) {
			all[name.Value] = value.Value
		}
	}
	return all
}

// count reads a whole number as policies have it, at least so large.
func (r *reader) count(n *yaml.Node, where string, least int64) int64 {
	want := fmt.Sprintf("a whole number from %d, such as 5 or 10k", least)
	if !r.is(n, yaml.ScalarNode, where, want) {
		return least
	}
	count, err := policy.ParseCount(n.Value)
	if err != nil || count < least {
		r.wrong(n, "%s%s, want %s", where, quoted(n.Value), want)
		return least
	}
	return count
}

func (r *reader) costs(n *yaml.Node, where string) map[string]int64 {
	if !r.is(n, yaml.MappingNode, where, "costs by unit, such as {input_tokens: 100}") {
		return nil
	}
	all := make(map[string]int64)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name := n.Content[i]; r.isName(name, where) {
			if _, twice := all[name.Value]; twice {
				r.wrong(name, "%s%s is there twice: leave one out", where, quoted(name.Value))
			}
			all[name.Value] = r.count(n.Content[i+1], where+name.Value+": ", 0)
		}
	}
	return all
}

// yes reads true or false.
func (r *reader) yes(n *yaml.Node, where string) bool {
	if !r.is(n, yaml.ScalarNode, where, "true or false") {
		return false
	}
	if n.ShortTag() != "!!bool" {
		r.wrong(n, "%s%s, want true or false", where, quoted(n.Value))
	}
	return strings.EqualFold(n.Value, "true") // YAML has True and TRUE as well
}

// word reads one of these words.
func (r *reader) word(n *yaml.Node, where string, words []string) string {
	if !r.is(n, yaml.ScalarNode, where, strings.Join(words, ", ")) {
		return ""
	}
	if isOneOf(n.Value, words) {
		return n.Value
	}
	if near := nearest(n.Value, words); near != "" {
		r.wrong(n, "%sunknown %s: did you mean %q?", where, quoted(n.Value), near)
	} else {
		r.wrong(n, "%sunknown %s: want %s", where, quoted(n.Value), strings.Join(words, ", "))
	}
	return ""
}

// isRefusal says whether an error of a check is one about the request, which a case may expect.
func isRefusal(err error) bool {
	return errors.Is(err, policy.ErrInvalid) || errors.Is(err, policy.ErrUnknownPolicy)
}
