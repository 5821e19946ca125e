package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programPolicies are what the programs of others ask.
const programPolicies = `
version: 1
policies:
  api: {when: {domain: absent}, key: [user], limits: [{rate: 5/h}]}
  edge: {when: {domain: edge, descriptor: user}, key: [user], limits: [{rate: 3/h, algorithm: fixed_window}]}
`

// call runs a program and returns what it prints, and its exit code.
func call(t *testing.T, in string, program string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &said, &said
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s: %v", program, err)
	}
	return said.String(), cmd.ProcessState.ExitCode()
}

// TestPrograms has programs that others wrote ask a cluster of three: what they know of the protocols is not ours. Building them takes
// minutes, so it is done with -long.
func TestPrograms(t *testing.T) {
	if !*long {
		t.Skip("it builds grpcurl, ghz and others: ask for it with -long")
	}
	dir := t.TempDir()
	out, code := call(t, "", "go", "build", "-C", filepath.Join("..", "programs"), "-o", dir, "tool")
	if code != 0 {
		t.Fatal(out)
	}
	nodes := cluster(t, 3, append(patient, "--policy", file(t, "limits.yaml", programPolicies))...)
	program := func(name string) string { return filepath.Join(dir, name) }

	t.Run("grpcurl", func(t *testing.T) {
		out, code := call(t, "", program("grpcurl"), "-plaintext", nodes[0].grpc, "list")
		for _, service := range []string{"drossel.v1.RateLimiter", "drossel.v1.LimitsStore", "envoy.service.ratelimit.v3.RateLimitService", "grpc.health.v1.Health"} {
			if code != 0 || !strings.Contains(out, service) {
				t.Errorf("list: %d %s, want %s", code, out, service)
			}
		}
		for i, d := range nodes {
			out, code = call(t, "", program("grpcurl"), "-plaintext", "-d", `{"policy": "api", "attributes": {"user": "ann"}, "cost": 2}`,
				d.grpc, "drossel.v1.RateLimiter/Check")
			if want := map[bool]string{true: `"allowed": true`, false: `"retryAfter"`}[i < 2]; code != 0 || !strings.Contains(out, want) {
				t.Errorf("check %d: %d %s, want %s", i, code, out, want)
			}
		}
		out, code = call(t, "", program("grpcurl"), "-plaintext", "-d", `{"policy": "apo"}`, nodes[1].grpc, "drossel.v1.RateLimiter/Check")
		if code == 0 || !strings.Contains(out, "NotFound") || !strings.Contains(out, `did you mean "api"?`) {
			t.Errorf("an unknown policy: %d %s", code, out)
		}
	})

	t.Run("ghz", func(t *testing.T) {
		out, code := call(t, "", program("ghz"), "--insecure", "--call", "drossel.v1.RateLimiter.Check", "-n", "2000", "-c", "16", "-O", "json",
			"-d", `{"policy": "api", "key": "Z2h6"}`, nodes[2].grpc)
		var report struct {
			Count                  int
			StatusCodeDistribution map[string]int
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || report.Count != 2000 || report.StatusCodeDistribution["OK"] != 2000 {
			t.Errorf("%d %v %.2000s", code, err, out)
		}
	})

	t.Run("grpc-health-probe", func(t *testing.T) {
		for _, service := range []string{"", "drossel.v1.RateLimiter"} {
			out, code := call(t, "", program("grpc-health-probe"), "-addr", nodes[0].grpc, "-service", service)
			if code != 0 || !strings.Contains(out, "SERVING") {
				t.Errorf("%q: %d %s", service, code, out)
			}
		}
		if out, code := call(t, "", program("grpc-health-probe"), "-addr", nodes[0].grpc, "-service", "nobody's"); code == 0 {
			t.Errorf("nobody's service: %s", out)
		}
	})

	t.Run("envoyproxy/ratelimit's client", func(t *testing.T) {
		for i, d := range []*daemon{nodes[0], nodes[1], nodes[2], nodes[0]} {
			out, _ := call(t, "", program("client_cmd"), "-dial_string", d.grpc, "-domain", "edge", "-descriptors", "user=ann")
			if want := map[bool]string{true: "overall_code:OK", false: "overall_code:OVER_LIMIT"}[i < 3]; !strings.Contains(out, want) {
				t.Errorf("call %d: %s, want %s", i, out, want)
			}
		}
	})
}

// python asks by grpcio, in messages that it writes by hand: the exit code says what was wrong.
const python = `
import grpc, sys
channel = grpc.insecure_channel(sys.argv[1])
def ask(method, message): return channel.unary_unary(method)(message, timeout=60)
assert ask('/grpc.health.v1.Health/Check', b'') == b'\x08\x01', 'not serving'
check = b'\x0a\x03api\x12\x03bob'
for want in [True] * 5 + [False] * 2:
    answer = ask('/drossel.v1.RateLimiter/Check', check)
    assert (answer[:2] == b'\x08\x01') == want, (want, answer)
try:
    ask('/drossel.v1.RateLimiter/Check', b'\x0a\x03apo')
    sys.exit('an unknown policy is decided')
except grpc.RpcError as e:
    assert e.code() == grpc.StatusCode.NOT_FOUND, e
print('all as wanted')
`

// TestPython asks by Debian's python3-grpcio.
func TestPython(t *testing.T) {
	const interpreter = "/usr/bin/python3"
	if _, code := call(t, "", interpreter, "-c", "import grpc"); code != 0 {
		t.Skip("python3-grpcio is not installed: test/run installs it")
	}
	d := start(t, "--policy", file(t, "limits.yaml", programPolicies))
	if out, code := call(t, "", interpreter, "-c", python, d.grpc); code != 0 || !strings.Contains(out, "all as wanted") {
		t.Errorf("%d %s", code, out)
	}
}

// node reads fields by structured-headers and prints what they are, as JSON.
const node = `
import { parseList, parseDictionary, parseItem } from 'structured-headers'
import { readFileSync } from 'node:fs'
const read = { list: parseList, dictionary: parseDictionary, item: parseItem }
const params = (p) => Object.fromEntries(p)
const shown = {
  list: (v) => v.map(([item, p]) => [item, params(p)]),
  dictionary: (v) => Object.fromEntries([...v].map(([k, [item, p]]) => [k, [item, params(p)]])),
  item: ([item, p]) => [item, params(p)],
}
console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(({ kind, value }) => shown[kind](read[kind](value)))))
`

// TestStructuredHeaders has every field that is a structured one parsed by structured-headers of npm (RFC 9651), as a node emits it.
func TestStructuredHeaders(t *testing.T) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed: test/run installs it")
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("..", "programs", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := call(t, "", npm, "ci", "--prefix", dir, "--no-audit", "--no-fund"); code != 0 {
		t.Fatalf("npm ci: %s", out)
	}
	script := filepath.Join(dir, "read.mjs")
	if err := os.WriteFile(script, []byte(node), 0o644); err != nil {
		t.Fatal(err)
	}
	policies := file(t, "limits.yaml", `{version: 1, policies: {api: {key: [user], limits: [{name: burst, rate: 2/h}]}}}`)
	type field struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
	}
	var fields []field
	var wants []string
	for _, style := range []struct {
		name  string
		kinds map[string]string // of each field
		want  map[string]string // what is read of the first answer, in part
	}{
		{"draft-11", map[string]string{"RateLimit": "list", "RateLimit-Policy": "list"},
			map[string]string{"RateLimit": `{"r":1,"t":1800}`, "RateLimit-Policy": `{"q":2,"w":3600}`}},
		{"draft-07", map[string]string{"RateLimit": "dictionary", "RateLimit-Policy": "list"},
			map[string]string{"RateLimit": `"remaining":[1,{}]`, "RateLimit-Policy": `[2,{"w":3600}]`}},
		{"draft-06", map[string]string{"RateLimit-Limit": "item", "RateLimit-Remaining": "item", "RateLimit-Reset": "item", "RateLimit-Policy": "list"},
			map[string]string{"RateLimit-Limit": "[2,{}]", "RateLimit-Remaining": "[1,{}]"}},
		{"github", map[string]string{"X-RateLimit-Remaining": "item"}, map[string]string{"X-RateLimit-Remaining": "[1,{}]"}},
	} {
		d := start(t, "--label", t.Name()+style.name, "--headers", style.name, "--auth-attribute", "user=X-User", "--policy", policies)
		for i := range 3 {
			res := authorize(t, d, "/api", http.Header{"X-User": {"ann"}})
			for name, kind := range style.kinds {
				fields = append(fields, field{kind, res.Header.Get(name)})
				want := ""
				if i == 0 {
					want = style.want[name]
				}
				wants = append(wants, want)
			}
		}
	}
	in, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	out, code := call(t, string(in), "node", script)
	var read []json.RawMessage
	if err := json.Unmarshal([]byte(out), &read); err != nil || code != 0 || len(read) != len(fields) {
		t.Fatalf("%d %v %s of %s", code, err, out, in)
	}
	for i, want := range wants {
		if !strings.Contains(string(read[i]), want) {
			t.Errorf("%v is read as %s, want %s in it", fields[i], read[i], want)
		}
	}
	t.Logf("%d fields", len(fields))
}
