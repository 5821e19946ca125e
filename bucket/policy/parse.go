package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxTextBytes bounds the text that Parse reads.
const MaxTextBytes = 1 << 20

// Parse reads a set of policies from YAML. name is the name of the file, and is only used in messages.
//
// The text is one document: "version: 1", and "policies", which maps the name of each policy to its "key", a list of
// attribute names or [], and its "limits", a list of at least one limit with a "rate" as ParseRate reads it, and a
// "burst" and a "name" if need be. The burst is the rate's count if it is left out.
//
// A policy may have a "when", which says for which requests it is: a mapping of attributes to present, absent, a value, or a list of
// values, in which each "*" stands for any text. A "not" in it is such a mapping, or a list of them, that must not hold. "on_missing"
// says what becomes of a request that lacks a part of the key: refuse (the default), deny or skip. "tiers" are other "limits", or
// "unlimited: true", by the value of the attribute tier, and "overrides" by key. In place of limits a policy may be "unlimited: true".
//
// A policy, for all of its limits that do not say otherwise, or a limit may have a "consistency", leased (the default),
// direct or strict, and a "sample", the share of checks that is decided: 100% (the default), 50%, 10%, 2.5% and so on down to
// 0.1%, of which a whole number make 100% within one in a hundred. It must be the same for all limits of a policy. See
// Consistency and Policy.Sample. One that is strict may have a "strict", with "shards", "prefetch", "wait_replicas" and "store", exact or
// approximate: see Strictness. "shadow: true" has limits count and not deny.
//
// A limit may have an "algorithm", and the fields that belong to it: see bucket.Algorithm; or a "quota" with a "zone" and an
// "overage" instead of a rate, as ParseQuota reads it. A limit may count a "unit" that "units", a list beside the policies, has, and
// have a "when" as a policy has, without "not": of other requests it takes nothing. A policy may have a "cost", which weighs one unit:
// see Weights.
//
// Both may have rules for failures as well: "on_unreachable", local (the default), deny or allow, for when the owner of
// a key cannot be asked, and "on_owner_loss", replica (the default), empty or full, for when it was lost and another
// takes over. See Unreachable and bucket.OwnerLoss. "durable": true keeps what was taken on disk, as is done anyway with windows of an hour or
// more: see bucket.Limit.IsDurable.
//
// A policy may have a "with", the names of others that a request is decided by as well, see Policy.With, and "replaces", those of others whose
// place it takes, see Policy.Replaces.
//
// Beside the policies "attributes" may say of an attribute that it is an address ("ipv4" and "ipv6": how many bits count) or a secret
// ("hash: true"), see Attribute; and "exempt", a list of mappings as in "when", which requests are never limited.
//
// Reading is strict: an unknown or repeated field, an anchor, alias, tag or merge key is an error.
//
// The error is a *ParseError that holds all that is wrong, with line and column. Of text that is not YAML it holds the
// first place only, for the rest cannot be read.
func Parse(name string, text []byte) (*Set, error) {
	r := &reader{file: name}
	if n := r.document(text, "version: 1 and policies, at least policies: {}"); n != nil {
		r.top(n)
	}
	if len(r.err.Problems) > 0 {
		r.err.sort()
		return nil, &r.err
	}
	s := &Set{byName: make(map[string]*Policy, len(r.policies)), text: string(text)}
	for _, p := range r.policies {
		s.byName[p.Name] = p.named()
	}
	s.finish(r.Definition)
	for i, p := range r.policies {
		if at, text := s.wrongNames(s.byName[p.Name]); text != "" {
			r.wrong(r.places[i][at], "policy %s: %s", quoted(p.Name), text)
		}
	}
	if len(r.err.Problems) > 0 {
		r.err.sort()
		return nil, &r.err
	}
	return s, nil
}

// reader holds what was read of one text, and what was wrong with it.
type reader struct {
	Definition
	file     string
	policies []*Policy
	places   []map[place]*yaml.Node // where each policy has what
	err      ParseError
}

// wrong notes a problem at a node.
func (r *reader) wrong(n *yaml.Node, format string, args ...any) {
	r.wrongAt(n.Line, n.Column, format, args...)
}

func (r *reader) wrongAt(line, column int, format string, args ...any) {
	r.err.Problems = append(r.err.Problems, Problem{r.file, line, column, fmt.Sprintf(format, args...)})
}

// document splits the text into its nodes. It is nil if that can't be done. want says what should be in it.
func (r *reader) document(text []byte, want string) *yaml.Node {
	if len(text) > MaxTextBytes {
		r.wrongAt(1, 1, "the text has %d bytes, want at most %d", len(text), MaxTextBytes)
		return nil
	}
	documents := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := documents.Decode(&first); {
	case errors.Is(err, io.EOF) || err == nil && isNull(first.Content[0]):
		r.wrongAt(1, 1, "there is nothing in it: want %s", want)
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

// plainOnly refuses what makes one part of the text mean another, or other than it looks.
func (r *reader) plainOnly(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.wrong(n, "aliases (*%s) are refused: write the value out", n.Value)
		return // what it stands for has been seen where it stands
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
