package arch

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clock is what reads the time or waits for it.
var clock = []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"}

// clocked are the edges that meet the clock of the world: those that wait, because somebody was told to, and those that
// write dates. What they are told of limits they take as it is.
var clocked = []string{"transport/api", "transport/envoy", "transport/middleware", "transport/pace", "transport/web"}

// clockUses returns where a file reads the clock and must not. Only node, what cmd runs, and the edges that are clocked may:
// everything else takes the instant as an argument.
func clockUses(s source) (wrong []string) {
	if s.isTest() || under(s.name, "node") || under(s.name, "cmd") || slices.Contains(clocked, path.Dir(s.name)) {
		return nil
	}
	if s.imported("time") == "." {
		wrong = append(wrong, s.at(s.file.Name)+": imports time by a dot, which hides a clock")
	}
	s.selected("time", clock, func(use *ast.SelectorExpr) {
		wrong = append(wrong, fmt.Sprintf("%s: time.%s: take the instant, or a function, as an argument",
			s.at(use), use.Sel.Name))
	})
	return wrong
}

// sleeps returns where a test sleeps instead of waiting for a condition. In the virtual time of synctest it may.
func sleeps(s source) (wrong []string) {
	if !s.isTest() || s.imported("testing/synctest") != "" {
		return nil
	}
	s.selected("time", []string{"Sleep"}, func(use *ast.SelectorExpr) {
		wrong = append(wrong, s.at(use)+": time.Sleep in a test: wait for the condition, with a generous limit")
	})
	return wrong
}

var fixedPort = regexp.MustCompile(`:[1-9][0-9]{0,4}$`)

// fixedPorts returns where a test listens on a port that another process may have.
func fixedPorts(s source) (wrong []string) {
	if !s.isTest() {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		callee, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(callee.Sel.Name, "Listen") {
			return true
		}
		for _, arg := range call.Args {
			literal, ok := arg.(*ast.BasicLit)
			if !ok {
				continue
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && fixedPort.MatchString(text) {
				wrong = append(wrong, fmt.Sprintf("%s: %s: listen on port 0", s.at(call), literal.Value))
			}
		}
		return true
	})
	return wrong
}

func TestTime(t *testing.T) {
	for _, s := range sources(t) {
		for _, rule := range []func(source) []string{clockUses, sleeps, fixedPorts} {
			for _, w := range rule(s) {
				t.Error(w)
			}
		}
	}
}

func TestTimeRules(t *testing.T) {
	tests := []struct {
		name, text string
		rule       func(source) []string
		want       int
	}{
		{"ring/a.go", `import "time"; var a = time.Now(); var b = time.After`, clockUses, 2},
		{"ring/a.go", `import clock "time"; func f() { clock.AfterFunc(1, f); clock.NewTicker(1) }`, clockUses, 2},
		{"ring/a.go", `import . "time"`, clockUses, 1},
		{"nodes/a.go", `import "time"; var a = time.Now()`, clockUses, 1},
		{"ring/a.go", `import "time"; var a = time.Second; var b time.Duration`, clockUses, 0},
		{"ring/a.go", `import "time"; func f(time struct{ Now int }) int { return time.Now }; var s time.Month`,
			clockUses, 0},
		{"ring/a_test.go", `import "time"; var a = time.Now()`, clockUses, 0},
		{"node/a.go", `import "time"; var a = time.Now()`, clockUses, 0},
		{"transport/pace/a.go", `import "time"; var a = time.Now()`, clockUses, 0},
		{"transport/a.go", `import "time"; var a = time.Now()`, clockUses, 1},
		{"cmd/drossel/a.go", `import "time"; var a = time.Now()`, clockUses, 0},
		{"node/a_test.go", `import "time"; func f() { time.Sleep(1) }`, sleeps, 1},
		{"node/a_test.go", `import ("time"; "testing/synctest"); func f() { synctest.Wait(); time.Sleep(1) }`, sleeps, 0},
		{"node/a_test.go", `import "net"; func f() { net.Listen("tcp", ":8080"); net.ListenPacket("udp", "[::1]:53") }`,
			fixedPorts, 2},
		{"node/a_test.go", `import "net"; func f() { net.Listen("tcp", "127.0.0.1:0") }`, fixedPorts, 0},
		{"node/a.go", `import "net"; func f() { net.Listen("tcp", ":8080") }`, fixedPorts, 0},
	}
	for _, tt := range tests {
		if got := tt.rule(parse(t, tt.name, "package p; "+tt.text)); len(got) != tt.want {
			t.Errorf("%s with %s: %d complaints, want %d: %q", tt.name, tt.text, len(got), tt.want, got)
		}
	}
}
