package starter

import (
	"bytes"
	"embed"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Starter is a file of policies to begin with, and tests of it. The zero Starter has neither.
type Starter struct {
	// Name is what it is asked for by.
	Name            string
	policies, tests []byte
}

// about says what each is for, in the order in which they are offered.
var about = []struct{ name, text string }{
	{"api", "a public API: clients by address, users by what they pay, the service as a whole"},
	{"llm", "a gateway to language models: tokens in and out, models that cost more, a month's spend"},
	{"b2b", "a service for companies: a user, the tenant, and all of them, each with limits"},
}

// Names returns what there are starters for.
func Names() (names []string) {
	for _, a := range about {
		names = append(names, a.name)
	}
	return names
}

// Table returns a line for each of the starters that says what it is for.
func Table() string {
	var b strings.Builder
	for _, a := range about {
		fmt.Fprintf(&b, "  %s   %s\n", a.name, a.text)
	}
	return b.String()
}

// For returns the starter of that name. The error says which there are.
func For(name string) (s Starter, err error) {
	if !slices.Contains(Names(), name) {
		return s, fmt.Errorf("there is nothing to begin with for %q, want %s", name, strings.Join(Names(), ", "))
	}
	s.Name = name
	if s.policies, err = files.ReadFile(name + ".yaml"); err == nil {
		s.tests, err = files.ReadFile(name + "_test.yaml")
	}
	return s, err
}

// TestsOf returns the name of the file of tests of a file of policies: limits_test.yaml of limits.yaml.
func TestsOf(name string) string {
	kind := filepath.Ext(name)
	return strings.TrimSuffix(name, kind) + "_test" + kind
}

// Policies returns the text of the policies, to be written into a file of that name.
func (s Starter) Policies(name string) []byte { return named(s.policies, filepath.Base(name)) }

// Tests returns the text of the tests, to be written beside policies in a file of that name.
func (s Starter) Tests(name string) []byte {
	name = filepath.Base(name)
	above, below, _ := bytes.Cut(s.tests, []byte("\npolicies: limits.yaml\n"))
	value := name
	if !plain.MatchString(name) {
		value = strconv.Quote(name)
	}
	return slices.Concat(named(above, name), []byte("\npolicies: "+value+"\n"), named(below, name))
}

// plain is a name that YAML takes for text, and a shell for one word.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*$`)

// named puts the names of the files into the comments of a text, unless they would have to be quoted there.
func named(text []byte, name string) []byte {
	if !plain.MatchString(name) {
		return text
	}
	text = bytes.ReplaceAll(text, []byte("limits_test.yaml"), []byte(TestsOf(name)))
	return bytes.ReplaceAll(text, []byte("limits.yaml"), []byte(name))
}
