package envoyimport

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/envoy"
)

// writer makes a file of policies.
type writer struct{ policies *yaml.Node }

// write returns the file of policies of these rules.
func write(head string, all []rule) ([]byte, error) {
	w := writer{policies: mapped(0)}
	for i := range all {
		w.rule(&all[i])
	}
	if len(all) == 0 {
		w.policies.Style = yaml.FlowStyle
	}
	version := word("version")
	version.HeadComment = head
	one := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(mapped(0, version, one, word("policies"), w.policies)); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}

// rule adds the policy of a rule.
func (w *writer) rule(r *rule) {
	d := r.last()
	keys := make([]string, len(r.way))
	for i, s := range r.way {
		keys[i] = s.key
	}
	names := envoy.AttributeNames(keys)
	when := mapped(yaml.FlowStyle, word(envoy.DomainAttribute), listed(r.domain), word(envoy.DescriptorAttribute), listed(envoy.DescriptorText(keys)))
	key, not := listed(), listed()
	for i, s := range r.way {
		if s.value != "" {
			when.Content = append(when.Content, word(names[i]), listed(envoy.AttributeValue(s.value)))
		}
		if !s.share {
			key.Content = append(key.Content, word(names[i]))
		}
		for some := range slices.Chunk(s.not, policy.MaxPatterns) {
			values := listed()
			for _, value := range some {
				values.Content = append(values.Content, word(envoy.AttributeValue(value)))
			}
			not.Content = append(not.Content, mapped(yaml.FlowStyle, word(names[i]), values))
		}
	}
	if len(not.Content) > 0 {
		when.Content = append(when.Content, word("not"), not)
	}
	p := mapped(0, word("when"), when, word("key"), key)
	if d.limit.unlimited {
		p.Content = append(p.Content, word("unlimited"), yes())
	} else {
		if d.shadow {
			p.Content = append(p.Content, word("shadow"), yes())
		}
		limits := listed()
		limits.Content = append(limits.Content, d.limit.node())
		p.Content = append(p.Content, word("limits"), limits)
	}
	if len(r.replaces) > 0 {
		p.Content = append(p.Content, word("replaces"), listed(r.replaces...))
	}
	name := word(r.name)
	name.HeadComment = plain(fmt.Sprintf("%s:%d", d.file, d.line), true)
	if u := d.limit.unit; u == "month" || u == "year" {
		name.HeadComment += fmt.Sprintf("\nAs in Envoy's service its %s is a span of days since 1970. One of the calendar is quota: %d/%s.", u, d.limit.count, u)
	}
	w.policies.Content = append(w.policies.Content, name, p)
}

func (l *limit) node() *yaml.Node {
	n := mapped(yaml.FlowStyle)
	if l.name != "" {
		name := plain(l.name, false)
		n.Content = append(n.Content, word("name"), word(name[:min(len(name), policy.MaxNameBytes)]))
	}
	rate := strconv.FormatUint(uint64(l.count), 10) + "/" + periods[l.unit]
	n.Content = append(n.Content, word("algorithm"), word("fixed_window"), word("rate"), word(rate))
	return n
}

// plain replaces what can't be in a name, or in a line of a comment.
func plain(text string, comment bool) string {
	return strings.Map(func(c rune) rune {
		switch {
		case comment && (c == ' ' || unicode.IsPrint(c)):
			return c
		case comment || c <= ' ' || c > '~' || strings.ContainsRune("\"'`\\", c):
			return '_'
		}
		return c
	}, text)
}

func mapped(style yaml.Style, content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Style: style, Content: content}
}

func listed(words ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, text := range words {
		n.Content = append(n.Content, word(text))
	}
	return n
}

// word is text, quoted if it would be taken for something else.
func word(text string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(text)
	return n
}

func yes() *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"} }
