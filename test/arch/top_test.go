package arch

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// topLevel is all that may lie at the top of the repository.
var topLevel = []string{
	"go.mod", "go.sum", "README.md", "LICENSE", ".ci", ".gitignore", "node", "ring", "bucket", "transport", "cmd", "test",
}

// strangers returns what lies at the top of a tree and must not.
func strangers(files []string) []string {
	found := make(map[string]bool)
	for _, name := range files {
		first, _, _ := strings.Cut(name, "/")
		if !slices.Contains(topLevel, first) {
			found[first] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func TestTopLevel(t *testing.T) {
	for _, name := range strangers(tracked(t)) {
		t.Errorf("%s lies at the top of the repository, where only %q may", name, topLevel)
	}
	tree := []string{"go.mod", "docs/a.md", "docs/b.md", "bucket/x.go", "Makefile", ".github/x"}
	if got := strangers(tree); len(got) != 3 {
		t.Errorf("of %q, %q are found, want docs, Makefile and .github", tree, got)
	}
}

// ownPlaces matches paths at which one person or one machine keeps a checkout.
var ownPlaces = regexp.MustCompile(`(^|[^\w./-])/(home|root|Users|work|workspaces?|builds)/[\w.-]`)

// ownPlace returns the part of a text that names a place on somebody's machine, or "". checkout is one that is known.
func ownPlace(text []byte, checkout string) string {
	if len(checkout) > 1 && bytes.Contains(text, []byte(checkout)) {
		return checkout
	}
	return string(ownPlaces.Find(text))
}

// TestOwnPlaces looks for paths that mean something on the machine of whoever wrote them, and nothing elsewhere.
func TestOwnPlaces(t *testing.T) {
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tracked(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if place := ownPlace(text, top); place != "" {
			t.Errorf("%s names %q, a place on one machine", name, place)
		}
	}
	const slash = "/" // keeps the paths below out of what the rule finds
	for _, text := range []string{
		slash + "home/ann/x", "see " + slash + "Users/ann/x", `"` + slash + `root/x`, "x " + top + " x",
	} {
		if ownPlace([]byte(text), top) == "" {
			t.Errorf("%q is not found", text)
		}
	}
	for _, text := range []string{
		"GET /v1/check", "https://example.org" + slash + "home/x", "/tmp/x.log", "a" + slash + "work/b",
	} {
		if place := ownPlace([]byte(text), top); place != "" {
			t.Errorf("%q is taken for a place on one machine: %q", text, place)
		}
	}
}
