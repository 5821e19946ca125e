package review

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// node is a place in a text.
type node struct{ *yaml.Node }

// root returns the document of a text that policy.Parse has read without an error.
func root(text []byte) node {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil || len(n.Content) == 0 {
		return node{&yaml.Node{Line: 1, Column: 1}}
	}
	return node{n.Content[0]}
}

// find returns the place to which a path leads: the name of a field, or the item of a list that has this text or this number from 0.
// Where the text has no such place, for a list of one may be written without a list, it is the last before.
func (n node) find(path ...string) node {
	last, at := n, n
	for _, step := range path {
		found := false
		for i, c := range at.Content {
			switch {
			case at.Kind == yaml.MappingNode && i%2 == 0 && c.Value == step:
				last, at, found = node{c}, node{at.Content[i+1]}, true
			case at.Kind == yaml.SequenceNode && (c.Kind == yaml.ScalarNode && c.Value == step || c.Kind != yaml.ScalarNode && strconv.Itoa(i) == step):
				last, at, found = node{c}, node{c}, true
			}
			if found {
				break
			}
		}
	}
	return last
}
