package arch

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the top of the repository, seen from the directory of this package, in which go test runs it.
const root = "../.."

// tracked returns the files that git tracks and that are there, by their paths from the root, with slashes.
func tracked(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".git")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the rules are about a checkout, and this is a copy without git's records")
	}
	var names []string
	for name := range strings.SplitSeq(run(t, "git", "ls-files", "-z"), "\x00") {
		if _, err := os.Stat(filepath.Join(root, name)); name != "" && err == nil {
			names = append(names, name)
		}
	}
	if !slices.Contains(names, "go.mod") {
		t.Fatalf("git tracks no go.mod: %d files, %q", len(names), names[:min(len(names), 5)])
	}
	return names
}

// run returns what a command prints at the root of the repository.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%s: %v: %s", strings.Join(cmd.Args, " "), err, exit.Stderr)
		}
		t.Fatalf("%s: %v", strings.Join(cmd.Args, " "), err)
	}
	return string(out)
}

// source is one parsed Go file.
type source struct {
	name string // path from the root
	file *ast.File
	set  *token.FileSet
}

func (s source) dir() string       { return path.Dir(s.name) }
func (s source) isTest() bool      { return strings.HasSuffix(s.name, "_test.go") }
func (s source) isGenerated() bool { return ast.IsGenerated(s.file) }

// at returns file:line of a place in it.
func (s source) at(n ast.Node) string {
	p := s.set.Position(n.Pos())
	p.Column = 0
	return p.String()
}

// imported returns the name by which the file calls an imported package, or "".
func (s source) imported(path string) string {
	for _, i := range s.file.Imports {
		if strings.Trim(i.Path.Value, "`\"") != path {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return path[strings.LastIndexByte(path, '/')+1:]
	}
	return ""
}

// parse parses a file; text is its text, or nil to read it from the tree.
func parse(t *testing.T, name string, text any) source {
	t.Helper()
	s := source{name: name, set: token.NewFileSet()}
	var err error
	if text == nil {
		if text, err = os.ReadFile(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if s.file, err = parser.ParseFile(s.set, name, text, parser.ParseComments); err != nil {
		t.Fatal(err)
	}
	return s
}

// sources returns the Go files that git tracks, parsed.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, name := range tracked(t) {
		if path.Ext(name) == ".go" && !strings.Contains(name, "testdata/") {
			all = append(all, parse(t, name, nil))
		}
	}
	return all
}

// selected calls found for every use of one of the names of an imported package, such as time.Now.
func (s source) selected(pkg string, names []string, found func(*ast.SelectorExpr)) {
	local := s.imported(pkg)
	if local == "" {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if use, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, use.Sel.Name) {
			// An identifier that the parser could resolve is a variable of this file, not the package.
			if x, ok := use.X.(*ast.Ident); ok && x.Name == local && x.Obj == nil {
				found(use)
			}
		}
		return true
	})
}
