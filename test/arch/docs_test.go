package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// terse are packages whose doc may be one sentence, and need not say what they don't do.
var terse = []string{"cmd/drossel", "transport/api/drosselv1"}

var sentenceEnd = regexp.MustCompile(`[.!?](\s|$)`)

// packageDoc returns what is wrong with the doc of the package in a folder. files are its Go files that are no tests.
func packageDoc(dir string, files []source) (wrong []string) {
	home := path.Join(dir, "doc.go")
	for _, s := range files {
		if s.file.Name.Name == "main" {
			home = path.Join(dir, "main.go")
		}
	}
	var text string
	for _, s := range files {
		switch {
		case s.isGenerated():
		case s.name == home:
			text = strings.Join(strings.Fields(s.file.Doc.Text()), " ")
		case s.file.Doc.Text() != "":
			wrong = append(wrong, fmt.Sprintf("%s: a package doc here: put it into %s", s.name, home))
		}
	}
	switch {
	case text == "":
		return append(wrong, fmt.Sprintf("package %s has no doc in %s", dir, home))
	case slices.Contains(terse, dir):
		return wrong
	}
	if n := len(sentenceEnd.FindAllString(text, -1)); n < 2 {
		wrong = append(wrong, fmt.Sprintf("%s: the package doc has %d sentences, want at least 2", home, n))
	}
	if !strings.Contains(text, "does not") {
		wrong = append(wrong, fmt.Sprintf(`%s: the package doc does not say what the package "does not" do`, home))
	}
	return wrong
}

// undocumented returns the exported identifiers of a file that have no doc: types, functions, methods of exported
// types, variables and constants. A group's doc counts for all in it, and so does a comment at the end of the line.
func undocumented(s source) (wrong []string) {
	if s.isTest() || s.isGenerated() || s.file.Name.Name == "main" {
		return nil
	}
	check := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if !name.IsExported() || slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d.Text() != "" }) {
			return
		}
		wrong = append(wrong, fmt.Sprintf("%s: %s is exported and has no doc", s.at(name), name.Name))
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
				check(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					check(spec.Name, spec.Doc, groupDoc(d))
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						check(name, spec.Doc, spec.Comment, d.Doc)
					}
				}
			}
		}
	}
	return wrong
}

// groupDoc is the doc of a declaration that stands for the one type in it.
func groupDoc(d *ast.GenDecl) *ast.CommentGroup {
	if d.Tok == token.TYPE && d.Lparen.IsValid() {
		return nil
	}
	return d.Doc
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func TestDocs(t *testing.T) {
	folders := make(map[string][]source)
	for _, s := range sources(t) {
		if _, seen := folders[s.dir()]; !seen {
			folders[s.dir()] = nil // a folder of tests alone needs a doc as well
		}
		if !s.isTest() {
			folders[s.dir()] = append(folders[s.dir()], s)
		}
		for _, w := range undocumented(s) {
			t.Error(w)
		}
	}
	for dir, files := range folders {
		for _, w := range packageDoc(dir, files) {
			t.Error(w)
		}
	}
}

func TestPackageDocRule(t *testing.T) {
	const good = "// Package a is one. It does\n// not do two.\npackage a"
	tests := []struct {
		name  string
		files map[string]string
		want  int
	}{
		{"good", map[string]string{"x/doc.go": good, "x/a.go": "package a"}, 0},
		{"main", map[string]string{"x/main.go": "// Command a is. It does not.\npackage main"}, 0},
		{"none", map[string]string{"x/doc.go": "package a"}, 1},
		{"no doc.go", map[string]string{"x/a.go": "package a"}, 1},
		{"elsewhere too", map[string]string{"x/doc.go": good, "x/a.go": "// Package a is.\npackage a"}, 1},
		{"one sentence", map[string]string{"x/doc.go": "// Package a does not v1.2 a\npackage a"}, 1},
		{"says only what it does", map[string]string{"x/doc.go": "// Package a is. It does.\npackage a"}, 1},
	}
	for _, tt := range tests {
		var files []source
		for name, text := range tt.files {
			files = append(files, parse(t, name, text))
		}
		if got := packageDoc("x", files); len(got) != tt.want {
			t.Errorf("%s: %d complaints, want %d: %q", tt.name, len(got), tt.want, got)
		}
	}
}

func TestUndocumentedRule(t *testing.T) {
	const text = `package a
type A struct{}
func (a *A) B() {}
func (a A) String() string { return "" }
func C() {}
var D, e = 1, 2
const (
	F = 1
	G = 2 // with a comment
)
type (
	// H has a doc.
	H int
	I[T any] int
)
func (i I[T]) J() {}

// K has a doc.
func K() {}
// All of these have one.
const (
	L = 1
)
type m int
func (m) N() {}
func o() {}
`
	if got := undocumented(parse(t, "x/a.go", text)); len(got) != 8 {
		t.Errorf("%d complaints, want 8, of A B String C D F I J: %q", len(got), got)
	}
	if got := undocumented(parse(t, "x/a_test.go", text)); len(got) != 0 {
		t.Errorf("a test: %q", got)
	}
	if got := undocumented(parse(t, "x/a.go", "// Code generated by x. DO NOT EDIT.\n"+text)); len(got) != 0 {
		t.Errorf("generated code: %q", got)
	}
}
