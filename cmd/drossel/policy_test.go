package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/starter"
)

// said is what a command has said, and its exit code.
type said struct {
	code        int
	out, errors string
}

// drossel runs a command in this process.
func drossel(t *testing.T, stdin string, args ...string) said {
	t.Helper()
	var out, errors bytes.Buffer
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&errors)
	code := execute(t.Context(), cmd)
	return said{code, out.String(), errors.String()}
}

func (s said) wants(t *testing.T, want said) {
	t.Helper()
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(said{})); diff != "" {
		t.Error(diff)
	}
}

// folder goes to a new one, with files in it.
func folder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	goodPolicies = `version: 1
attributes: {api_key: {hash: true}}
policies:
  api:
    when: {user: present}
    key: [user]
    limits: [{rate: 5/s}, {rate: 100/h}]
    tiers: {pro: {limits: [{rate: 50/s}]}, staff: {unlimited: true}}
    overrides: {acme: {limits: [{rate: 10/s}]}}
  keys: {when: {api_key: present}, key: [api_key], limits: [{rate: 7/s}]}
`
	badPolicies = `version: 1
policies:
  api: {key: user, limits: [{rate: 10/minuts}]}
`
	doubtfulPolicies = `version: 1
policies:
  api: {when: {user: present}, key: [user], limits: [{rate: 5/s}]}
  all: {key: [ip], limits: [{rate: 5/s}]}
`
)

func TestPolicyValidate(t *testing.T) {
	folder(t, map[string]string{"good.yaml": goodPolicies, "bad.yaml": badPolicies, "doubtful.yaml": doubtfulPolicies})
	const good = "good.yaml: 2 policies, 5 limits, 2 tiers, 1 override\n"
	const bad = `bad.yaml:3:14: policy "api": key: want a list: write [user]
bad.yaml:3:39: policy "api": limit 1: rate "10/minuts", byte 4: unknown unit "minuts", want ns, us, ms, s, min, h, d or week
`
	const unread = "open no.yaml: no such file or directory"
	drossel(t, "", "policy", "validate", "good.yaml").wants(t, said{exitYes, good, ""})
	drossel(t, goodPolicies, "policy", "validate", "-").wants(t, said{exitYes, strings.Replace(good, "good.yaml", "-", 1), ""})
	drossel(t, "", "policy", "validate", "bad.yaml", "good.yaml").wants(t, said{exitNo, bad + good, ""})
	drossel(t, "", "policy", "validate", "good.yaml", "no.yaml").wants(t, said{exitUnknown, good, "drossel: " + unread + "\n"})
	drossel(t, "", "policy", "validate", "no.yaml", "bad.yaml").wants(t, said{exitNo, bad, "drossel: " + unread + "\n"})
	drossel(t, "", "policy", "validate", "doubtful.yaml").wants(t, said{
		exitYes, "doubtful.yaml: 2 policies, 2 limits, 0 tiers, 0 overrides\n",
		`warning: doubtful.yaml:4:3: policy "all": it has no when, so it is for every request that names no policy, beside those that have one: ` +
			"say what it is for, or name it in the with of another\n" +
			`warning: doubtful.yaml:4:15: policy "all": key: "ip" is taken byte for byte: whoever has one IPv6 address has 2^64 of them, and a bucket ` +
			"for each: write attributes: {ip: {ipv4: 32, ipv6: 64}} above the policies\n",
	})
	drossel(t, "", "policy", "validate").wants(t, said{exitNo, "", "drossel: requires at least 1 arg(s), only received 0\n"})
}

func TestPolicyInit(t *testing.T) {
	folder(t, nil)
	for _, name := range starter.Names() {
		out := name + "-limits.yaml"
		drossel(t, "", "policy", "init", "--for", name, "--out", out).wants(t, said{exitYes, strings.ReplaceAll(
			`FILE.yaml has the policies, FILE_test.yaml tests of them: change both, then

  drossel policy validate FILE.yaml
  drossel policy test FILE_test.yaml
  drossel serve --policy FILE.yaml
`, "FILE", name+"-limits"), ""})
		s := drossel(t, "", "policy", "validate", out)
		if s.code != exitYes || s.errors != "" {
			t.Errorf("%+v", s)
		}
		s = drossel(t, "", "policy", "test", name+"-limits_test.yaml")
		if s.code != exitYes || !strings.HasSuffix(s.out, ", 0 failed\n") {
			t.Errorf("%+v", s)
		}
		s = drossel(t, "", "policy", "init", "--for", name, "--out", "-")
		if _, err := policy.Parse("-", []byte(s.out)); err != nil || s.code != exitYes {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestPolicyInitOverwritesNothing: neither of its two files, and leaves none of them alone behind.
func TestPolicyInitOverwritesNothing(t *testing.T) {
	folder(t, map[string]string{"a.yaml": "mine", "b_test.yaml": "mine"})
	drossel(t, "", "policy", "init", "--for", "api", "--out", "a.yaml").wants(t,
		said{exitNo, "", "drossel: a.yaml is there already, and is left as it is: name another by --out\n"})
	drossel(t, "", "policy", "init", "--for", "api", "--out", "b.yaml").wants(t,
		said{exitNo, "", "drossel: b_test.yaml is there already, and is left as it is: name another by --out\n"})
	drossel(t, "", "policy", "init", "--for", "web").wants(t,
		said{exitNo, "", "drossel: --for: there is nothing to begin with for \"web\", want api, llm, b2b\n"})
	drossel(t, "", "policy", "init").wants(t, said{exitNo, "", "drossel: --for is missing, want api, llm, b2b\n"})
	drossel(t, "", "policy", "init", "--for", "api", "--out", "no/a.yaml").wants(t,
		said{exitUnknown, "", "drossel: open no/a.yaml: no such file or directory\n"})
	found, err := filepath.Glob("*")
	if err != nil || strings.Join(found, " ") != "a.yaml b_test.yaml" {
		t.Errorf("%q, %v", found, err)
	}
	for _, name := range found {
		if text, err := os.ReadFile(name); err != nil || string(text) != "mine" {
			t.Errorf("%s has been overwritten: %q, %v", name, text, err)
		}
	}
}

func TestPolicySchema(t *testing.T) {
	s := drossel(t, "", "policy", "schema")
	var schema struct {
		Schema     string `json:"$schema"`
		Properties map[string]any
	}
	if err := json.Unmarshal([]byte(s.out), &schema); err != nil || s.code != exitYes || s.errors != "" {
		t.Fatalf("%v: %+v", err, s)
	}
	if !strings.Contains(schema.Schema, "2020-12") || schema.Properties["policies"] == nil {
		t.Errorf("%+v", schema)
	}
}

func TestPolicyExplain(t *testing.T) {
	folder(t, map[string]string{"good.yaml": goodPolicies, "bad.yaml": badPolicies, "settings.yaml": "policy: other.yaml\nkey: [a, b]\n"})
	t.Setenv("DROSSEL_POLICY", "serve.yaml") // these are of serve, and of replay
	t.Setenv("DROSSEL_KEY", "ip,user")
	drossel(t, "", "policy", "explain", "good.yaml", "--attr", "user=ann", "--attr", "tier=pro", "--attr", "api_key=a=b", "--cost", "2").wants(t,
		said{exitYes, `api applies: when {user: present}
  key     ann
  limits  tier pro
    api: 50/s, burst 50, takes 2 requests
keys applies: when {api_key: present}
  key     ...
  limits  its own limits
    keys: 7/s, burst 7, takes 2 requests
`, ""})
	drossel(t, goodPolicies, "policy", "explain", "-", "--policy", "api", "--key", "acme", "--costs", "requests=3", "--config", "settings.yaml").wants(t,
		said{exitYes, `api applies: named by the request
  key     acme
  limits  override acme
    api: 10/s, burst 10, takes 3 requests
`, ""})
	drossel(t, "", "policy", "explain", "good.yaml", "--policy", "api", "--key", "<acme>", "--json").wants(t, said{exitYes,
		`{"policies":[{"policy":"api","applies":true,"why":"named by the request","key":"<acme>","variant":"its own limits",` +
			`"limits":[{"name":"api","limit":"5/s, burst 5","unit":"requests","cost":1},` +
			`{"name":"api-2","limit":"100/h, burst 100","unit":"requests","cost":1}]}]}` + "\n", ""})
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"good.yaml --policy apj", exitNo, `unknown policy "apj": did you mean "api"?`},
		{"good.yaml --key ann", exitNo, "invalid request: it has a key and names no policy: name one, or give attributes instead of the key"},
		{"good.yaml --attr ann", exitNo, `--attr is "ann", want name=value`},
		{"good.yaml --costs tokens", exitNo, `--costs has "tokens", want unit=count`},
		{"good.yaml --cost 0", exitNo, "--cost is 0, want 1 or more: nothing is taken anyway"},
		{"bad.yaml", exitNo, "bad.yaml:3:14: "},
		{"no.yaml", exitUnknown, "open no.yaml: no such file"},
		{"good.yaml bad.yaml", exitNo, "accepts at most 1 arg(s), received 2"},
	} {
		s := drossel(t, "", append([]string{"policy", "explain"}, strings.Fields(c.args)...)...)
		if s.code != c.code || s.out != "" || !strings.HasPrefix(s.errors, "drossel: "+c.says) {
			t.Errorf("%s: %+v, want %s", c.args, s, c.says)
		}
	}
}

func TestPolicyTest(t *testing.T) {
	folder(t, map[string]string{
		"etc/good.yaml": goodPolicies, "etc/bad.yaml": badPolicies,
		"etc/tests/pass.yaml": `policies: ../good.yaml
cases:
  - name: five at once
    steps: [{attributes: {user: ann}, times: 6, expect: {allowed: 5, limit: api, retry_after: 200ms}}]
  - name: a user is missing
    steps: [{policy: api, expect: {refused: is absent}}]
`,
		"etc/tests/fail.yaml": `policies: ../good.yaml
cases:
  - name: staff
    attributes: {user: ann, tier: staff}
    steps:
      - {times: 99, expect: {allowed: true}}
      - {expect: {allowed: false, decided_by: owner}}
`,
		"invalid.yaml": "policies: x\ncases: [{name: a, step: []}]\n",
		"of-bad.yaml":  "policies: etc/bad.yaml\ncases: [{name: a, steps: [{expect: {allowed: true}}]}]\n",
		"of-none.yaml": "policies: none.yaml\ncases: [{name: a, steps: [{expect: {allowed: true}}]}]\n",
	})
	const failed = "etc/tests/fail.yaml:7: case staff: step 2: allowed is true, want false; decided_by is exempt, want owner " +
		"(decided by exempt, policy api)\n"
	drossel(t, "", "policy", "test", "etc/tests/pass.yaml").wants(t, said{exitYes, "2 cases, 2 steps, 0 failed\n", ""})
	drossel(t, "", "policy", "test", "etc/tests/pass.yaml", "etc/tests/fail.yaml").wants(t,
		said{exitNo, failed + "3 cases, 4 steps, 1 failed\n", ""})
	drossel(t, "", "policy", "test", "--verbose", "etc/tests/pass.yaml").wants(t, said{exitYes,
		`etc/tests/pass.yaml:4: case five at once: step 1: ok (decided by owner, policy api, limit api, remaining 0, retry after 200ms)
etc/tests/pass.yaml:6: case a user is missing: step 1: ok (refused: invalid request: policy "api" is keyed by "user": attribute "user" is absent or empty)
2 cases, 2 steps, 0 failed
`, ""})
	drossel(t, "", "policy", "test", "invalid.yaml", "of-bad.yaml").wants(t, said{exitNo,
		`invalid.yaml:2:19: case "a": unknown field "step": did you mean "steps"?
etc/bad.yaml:3:14: policy "api": key: want a list: write [user]
etc/bad.yaml:3:39: policy "api": limit 1: rate "10/minuts", byte 4: unknown unit "minuts", want ns, us, ms, s, min, h, d or week
0 cases, 0 steps, 0 failed, 3 problems
`, ""})
	drossel(t, "", "policy", "test", "of-none.yaml", "no.yaml", "etc/tests/pass.yaml").wants(t, said{exitUnknown, "2 cases, 2 steps, 0 failed\n",
		"drossel: of-none.yaml:1:11: policies: open none.yaml: no such file or directory\nopen no.yaml: no such file or directory\n"})
	drossel(t, "", "policy", "test", "no.yaml", "etc/tests/fail.yaml").wants(t, said{exitNo, failed + "1 case, 2 steps, 1 failed\n",
		"drossel: open no.yaml: no such file or directory\n"})
	drossel(t, "policies: etc/good.yaml\ncases: [{name: a, steps: [{expect: {allowed: true}}]}]\n", "policy", "test", "-", "--json").wants(t, said{exitYes,
		`{"cases":1,"steps":1,"failed":0,"problems":[],"results":[{"file":"-","line":2,"case":"a","step":1,"at":"0s","passed":true,"times":1,` +
			`"allowed":1,"decision":{"allowed":true,"decided_by":"no_policy","limit":"","never":false,"overage":false,"policy":"","remaining":0,` +
			`"reset_after":"0s","retry_after":"0s","shadow_denied":false,"wait":"0s"}}]}` + "\n", ""})
}

func TestPolicyCommand(t *testing.T) {
	s := drossel(t, "", "policy")
	for _, want := range []string{"init", "validate", "explain", "test", "schema", "need no node"} {
		if s.code != exitYes || !strings.Contains(s.out, want) {
			t.Errorf("%q is missing: %+v", want, s)
		}
	}
	drossel(t, "", "policy", "vaildate").wants(t, said{exitNo, "", "drossel: unknown command \"vaildate\" for \"drossel policy\": did you mean validate?\n"})
	drossel(t, "", "policy", "zzzzzzzz").wants(t, said{exitNo, "", "drossel: unknown command \"zzzzzzzz\" for \"drossel policy\"\n"})
}
