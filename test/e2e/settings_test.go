package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
)

// smallLog is an access log of 59 lines, of which 6 can't be understood.
const smallLog = "../data/small.log"

// replayed is what drossel replay --json shows.
type replayed struct {
	Requests   int `json:"requests"`
	Admitted   int `json:"admitted"`
	Denied     int `json:"denied"`
	Skipped    int `json:"skipped"`
	Keys       int `json:"keys"`
	DeniedKeys int `json:"denied_keys"`
	Nodes      int `json:"nodes"`
}

func (c command) replay(t *testing.T, args ...string) (r replayed) {
	t.Helper()
	out := c.run(t, append([]string{"replay", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out.stdout), &r); err != nil || out.code != 0 {
		t.Fatalf("replay %q: code %d, %v: %s%s", args, out.code, err, out.stdout, out.stderr)
	}
	return r
}

// TestSettings gives the same flags by the command line, the environment and a file: the first that has one wins.
func TestSettings(t *testing.T) {
	byFlag := make(map[string]replayed)
	for _, rate := range []string{"1/min", "3/min", "5/min"} {
		byFlag[rate] = command{}.replay(t, smallLog, "--rate", rate, "--nodes", "2")
	}
	if byFlag["1/min"] == byFlag["3/min"] || byFlag["3/min"] == byFlag["5/min"] {
		t.Fatalf("rates make no difference: %+v", byFlag)
	}
	settings := file(t, "drossel.yaml", "# as for all our nodes\nrate: 1/min\nnodes: 2\n")
	env := command{env: []string{"DROSSEL_RATE=3/min", "DROSSEL_NODES=2"}}
	both := command{env: append([]string{"DROSSEL_CONFIG=" + settings}, env.env...)}
	tests := []struct {
		name string
		c    command
		args []string
		want string
	}{
		{"file", command{}, []string{"--config", settings}, "1/min"},
		{"file by environment", command{env: []string{"DROSSEL_CONFIG=" + settings}}, nil, "1/min"},
		{"environment", env, nil, "3/min"},
		{"environment over file", both, nil, "3/min"},
		{"flag over environment", env, []string{"--rate", "5/min"}, "5/min"},
		{"flag over all", both, []string{"--rate", "5/min"}, "5/min"},
		{"empty is not set", command{env: []string{"DROSSEL_RATE=", "DROSSEL_CONFIG=" + settings}}, nil, "1/min"},
	}
	for _, tt := range tests {
		if got := tt.c.replay(t, append(tt.args, smallLog)...); got != byFlag[tt.want] {
			t.Errorf("%s: %+v, want as with --rate %s: %+v", tt.name, got, tt.want, byFlag[tt.want])
		}
	}
	bad := command{env: []string{"DROSSEL_NODES=few"}}
	bad.run(t, "replay", smallLog).wants(t, 1, `DROSSEL_NODES: nodes wants a whole number, not "few"`)
	typo := command{env: []string{"DROSSEL_NODE=2"}}
	typo.run(t, "replay", smallLog).wants(t, 0, "warning: DROSSEL_NODE is ignored", `did you mean "DROSSEL_NODES"?`)
	elsewhere := command{env: []string{"DROSSEL_TABLE_BYTES=100"}}
	if r := elsewhere.run(t, "replay", smallLog); r.code != 0 || r.stderr != "" {
		t.Errorf("a setting of another command: code %d, %s", r.code, r.stderr)
	}
}

// TestServeSettings runs a cluster whose settings come from a file and the environment alone.
func TestServeSettings(t *testing.T) {
	common := file(t, "drossel.yaml", fmt.Sprintf(`name: from-file
label: %s
gossip: 127.0.0.1:0
grpc: ""
http: 127.0.0.1:0
policy: %s
deadline: 20s
log-json: true
`, t.Name(), file(t, "limits.yaml", policies)))

	first := launch(t, command{}, "--config", common)
	first.ready(t)
	env := command{env: []string{
		"DROSSEL_CONFIG=" + common, "DROSSEL_NAME=from-env", "DROSSEL_JOIN=127.0.0.1:1," + first.gossip,
	}}
	second := launch(t, env)
	second.ready(t)
	third := launch(t, env, "--name", "from-flag")
	third.ready(t)
	for i, d := range []*daemon{first, second, third} {
		if want := []string{"from-file", "from-env", "from-flag"}[i]; d.name != want {
			t.Errorf("the daemon's name is %q, want %q", d.name, want)
		}
		if d.grpc != "" || d.http == "" {
			t.Errorf("%s: gRPC at %q and HTTP at %q, want HTTP alone", d.name, d.grpc, d.http)
		}
	}
	agreed(t, first, second, third)
	for i, d := range []*daemon{first, second, third} {
		addr := command{env: []string{"DROSSEL_ADDR=" + d.http}}
		addr.run(t, "check", "api", "ann").wants(t, 0, fmt.Sprintf("allowed: %d of 10 left", 9-i))
	}
	if first.line(`"msg":"members changed"`) == "" {
		t.Errorf("the log is no JSON: %s", first.stderr.String())
	}
}
