package arch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/drossel-dev/drossel"

// mayImport says which of our packages each may import in what is no test. Those under cmd and test are not listed:
// they may import anything but test.
var mayImport = map[string][]string{
	"bucket":                  {},
	"bucket/lease":            {"bucket"},
	"bucket/policy":           {"bucket", "bucket/redis"},
	"bucket/table":            {"bucket", "bucket/lease"},
	"bucket/redis":            {"bucket"},
	"ring":                    {},
	"ring/gossip":             {"ring"},
	"transport":               {"bucket", "bucket/lease", "ring"},
	"transport/peer":          {"transport"},
	"transport/mem":           {"transport"},
	"transport/api":           {"bucket", "bucket/policy", "transport/api/drosselv1", "transport/door"},
	"transport/api/drosselv1": {},
	"transport/door":          {"bucket/policy"},
	"transport/web":           {"bucket", "bucket/policy", "transport/headers"},
	"transport/envoy":         {"bucket", "bucket/policy", "transport/door", "transport/headers"},
	"transport/headers":       {"bucket/policy"},
	"transport/interceptor":   {"bucket/policy", "transport/headers"},
	"transport/middleware":    {"bucket/policy", "transport/headers"},
	"transport/pace":          {"bucket/policy"},
	"node": {
		"bucket", "bucket/lease", "bucket/policy", "bucket/redis", "bucket/table", "node/ownership", "ring", "ring/gossip", "transport",
		"transport/peer",
	},
	"node/ownership": {"bucket"},
	"node/metrics":   {"node", "transport/door"},
	"node/store":     {"bucket", "bucket/table", "node"},
	"node/strict":    {"bucket", "bucket/redis"},
	// Where a text of policies comes from; whoever embeds a node compiles none of the clients.
	"node/source":        {"bucket/policy"},
	"node/source/consul": {"bucket/policy", "node/source"},
	"node/source/etcd":   {"bucket/policy", "node/source"},
	"node/source/file":   {"bucket/policy", "node/source"},
}

// pkg is a package as go list has it.
type pkg struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T, args ...string) (pkgs []pkg) {
	t.Helper()
	out := run(t, "go", append([]string{"list", "-json=ImportPath,Imports"}, args...)...)
	dec := json.NewDecoder(strings.NewReader(out))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// ours returns the path of a package within the module, and whether it is of it.
func ours(importPath string) (string, bool) { return strings.CutPrefix(importPath, module+"/") }

func under(name, folder string) bool { return strings.HasPrefix(name+"/", folder+"/") }

// wrongImports returns what breaks the rules of mayImport.
func wrongImports(pkgs []pkg) (wrong []string) {
	missing := maps.Clone(mayImport)
	for _, p := range pkgs {
		name, _ := ours(p.ImportPath)
		allowed, listed := mayImport[name]
		delete(missing, name)
		free := under(name, "cmd") || under(name, "test")
		if !listed && !free {
			wrong = append(wrong, fmt.Sprintf("package %s is new: say in mayImport which of ours it may import", name))
			continue
		}
		for _, i := range p.Imports {
			other, own := ours(i)
			if !own || free && !under(other, "test") || slices.Contains(allowed, other) {
				continue
			}
			wrong = append(wrong, fmt.Sprintf("package %s imports %s: it may import %q", name, other, allowed))
		}
	}
	for name := range missing {
		wrong = append(wrong, fmt.Sprintf("package %s is no more: take it out of mayImport", name))
	}
	slices.Sort(wrong)
	return wrong
}

func TestImports(t *testing.T) {
	for _, w := range wrongImports(list(t, "./...")) {
		t.Error(w)
	}
}

func TestImportsRule(t *testing.T) {
	var sound []pkg
	for name, allowed := range mayImport {
		p := pkg{ImportPath: module + "/" + name, Imports: []string{"fmt"}}
		for _, other := range allowed {
			p.Imports = append(p.Imports, module+"/"+other)
		}
		sound = append(sound, p)
	}
	sound = append(sound, pkg{module + "/cmd/drossel", []string{module + "/node", module + "/cmd/internal/demo"}})
	if wrong := wrongImports(sound); len(wrong) > 0 {
		t.Errorf("sound imports are refused: %q", wrong)
	}
	for name, p := range map[string]pkg{
		"not allowed":   {module + "/ring", []string{module + "/bucket"}},
		"own child":     {module + "/bucket", []string{module + "/bucket/policy"}},
		"new":           {module + "/bucket/calendar", nil},
		"test":          {module + "/cmd/drossel", []string{module + "/test/arch"}},
		"test by test":  {module + "/test/e2e", []string{module + "/test/arch"}},
		"not under cmd": {module + "/cmdx", nil},
	} {
		if wrong := wrongImports(append(slices.Clone(sound), p)); len(wrong) != 1 {
			t.Errorf("%s: %v is complained of %d times, want once: %q", name, p, len(wrong), wrong)
		}
	}
	if wrong := wrongImports(sound[1:]); len(wrong) != 1 {
		t.Errorf("a package that is no more is complained of %d times, want once: %q", len(wrong), wrong)
	}
}

// heavy are the beginnings of packages that whoever embeds a node must not have to compile.
var heavy = []string{
	"github.com/redis/", "github.com/go-redis/", "github.com/twmb/franz-go", "github.com/segmentio/kafka-go",
	"github.com/IBM/sarama", "github.com/confluentinc/", "go.etcd.io/", "github.com/hashicorp/consul",
	"github.com/fsnotify/", "github.com/prometheus/", "github.com/spf13/", "github.com/boltdb/", "k8s.io/",
	"net/http/pprof", "html/template",
}

// pagesOfOthers have pages that come with memberlist and grpc, whoever uses those.
var pagesOfOthers = []string{"golang.org/x/net/trace", "net/rpc"}

// heavyImports returns who imports something heavy.
func heavyImports(pkgs []pkg) (wrong []string) {
	for _, p := range pkgs {
		for _, i := range p.Imports {
			if i == "html/template" && slices.Contains(pagesOfOthers, p.ImportPath) {
				continue
			}
			if slices.ContainsFunc(heavy, func(h string) bool { return strings.HasPrefix(i, h) }) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, which a service that embeds a node would compile: "+
					"give it a package of its own, wired in cmd", p.ImportPath, i))
			}
		}
	}
	return wrong
}

func TestNodeIsLight(t *testing.T) {
	pkgs := list(t, "-deps", "./node")
	if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.ImportPath == "google.golang.org/grpc" }) {
		t.Fatal("go list -deps does not show grpc, which a node is known to compile")
	}
	for _, w := range heavyImports(pkgs) {
		t.Error(w)
	}
	// The rule finds what cmd compiles and a node does not.
	if len(heavyImports(list(t, "-deps", "./cmd/drossel"))) == 0 {
		t.Error("nothing heavy is found in cmd/drossel, which has cobra and the Prometheus client")
	}
}
