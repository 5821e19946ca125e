package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// TestReadmePolicies reads the policies that the README shows.
func TestReadmePolicies(t *testing.T) {
	blocks := readmeBlocks(t, "yaml")
	want := []struct{ name, with string }{{"api", "tenant ceiling"}, {"busy", ""}, {"api", ""}, {"spend", ""}}
	if len(blocks) != len(want) {
		t.Fatalf("%d of them, want %d", len(blocks), len(want))
	}
	for i, w := range want {
		set, err := policy.Parse("README.md", []byte(blocks[i]))
		if err != nil {
			t.Error(err)
			continue
		}
		p, err := set.Policy(w.name)
		if err != nil || strings.Join(p.Together(), " ") != w.with {
			t.Errorf("%s is decided with %v: %v", w.name, p.Together(), err)
		}
	}
}

// TestLimits asks three daemons by drossel check about limits of every kind, about costs by unit, and about several keys.
func TestLimits(t *testing.T) {
	limits := file(t, "limits.yaml", `
version: 1
units: [input, output]
policies:
  paced:   {key: [k], limits: [{algorithm: pacer, rate: 6/min, max_wait: 30s}]}
  sliding: {key: [k], limits: [{algorithm: sliding_window, rate: 3/d}]}
  large:   {key: [k], limits: [{algorithm: sliding_window, rate: 2000/d}]}
  first:   {key: [k], limits: [{algorithm: first_hit_window, rate: 3/d}]}
  fixed:   {key: [k], limits: [{algorithm: fixed_window, rate: 3/week}]}
  monthly: {key: [k], limits: [{quota: 4/year, zone: America/New_York, overage: 50%}]}
  llm:
    key: [k]
    cost: {unit: output, by: model, weights: {"large-*": 20}}
    limits: [{rate: 100/d}, {name: in, unit: input, rate: 1000/d}, {name: out, unit: output, rate: 500/d}]
  user:    {key: [k], limits: [{rate: 5/d}], with: [tenant]}
  tenant:  {key: [tenant], limits: [{rate: 7/d}], with: [all]}
  all:     {key: [], limits: [{rate: 9/d}]}
`)
	var nodes []*daemon
	for i := range 3 {
		args := []string{"--name", fmt.Sprint("n", i+1), "--policy", limits, "--gossip", "127.0.0.1:0", "--deadline", "10s"}
		if i > 0 {
			args = append(args, "--join", nodes[0].gossip)
		}
		nodes = append(nodes, start(t, args...))
	}
	for i, step := range []struct {
		args string
		code int
		says string
	}{
		{"paced a", 0, "allowed: 3 of 4 left by limit paced"},
		{"paced a", 0, "allowed, go in "},
		{"paced a", 0, "allowed, go in "},
		{"paced a", 0, "allowed, go in "},
		{"paced a", 1, "denied: 0 of 4 left"},
		{"sliding a --cost 2", 0, "allowed: 1 of 3 left"},
		{"sliding a --cost 2", 1, "denied: 1 of 3 left"},
		{"sliding a", 0, "allowed: 0 of 3 left"},
		{"large a --cost 1500", 0, "allowed: 500 of 2000 left"},
		{"large a --cost 501", 1, "denied: 500 of 2000 left"},
		{"first a --cost 3", 0, "allowed: 0 of 3 left"},
		{"first a", 1, "denied: 0 of 3 left"},
		{"fixed a --cost 3", 0, "allowed: 0 of 3 left"},
		{"fixed a --cost 4", 1, "no wait can help"},
		{"monthly a --cost 4", 0, "allowed: 2 of 6 left"},
		{"monthly a", 0, "allowed, as overage: 1 of 6 left"},
		{"monthly a --cost 2", 1, "denied: 1 of 6 left"},
		{"llm a --costs input=900,output=10", 0, "allowed: 100 of 1000 left by limit in"},
		{"llm a --costs input=101", 1, "denied: 100 of 1000 left by limit in"},
		{"llm a --costs output=25 --attr model=large-1", 1, "denied: 490 of 500 left by limit out"},
		{"llm a --costs output=24 --attr model=large-1", 0, "allowed: 10 of 500 left by limit out"},
		{"llm a", 0, "allowed: 97 of 100 left by limit llm"},
		{"llm a --costs outptu=1", 1, `did you mean "output"?`},
		{"llm a --costs output=-1", 1, "costs: output is -1"},
		{"user ann --attr tenant=x --cost 5", 0, "allowed: 0 of 5 left by limit user"},
		{"user bob --attr tenant=x --cost 3", 1, "denied: 2 of 7 left by limit tenant"},
		{"user bob --attr tenant=x --cost 2", 0, "allowed: 0 of 7 left by limit tenant"},
		{"user carl --attr tenant=y --cost 3", 1, "denied: 2 of 9 left by limit all"},
		{"user carl --attr tenant=y --cost 2", 0, "allowed: 0 of 9 left by limit all"},
		{"user dora", 1, `attribute "tenant" is absent`},
		{"tenant y --cost 0", 1, "denied: 0 of 9 left by limit all"},
	} {
		args := append([]string{"check", "--addr", nodes[i%3].http}, strings.Fields(step.args)...)
		run(t, args...).wants(t, step.code, step.says)
	}
	// What was put back is there again.
	for end := time.Now().Add(10 * time.Second); ; {
		r := run(t, "check", "--addr", nodes[0].http, "user", "carl", "--attr", "tenant=z", "--cost", "0", "--json")
		if strings.Contains(r.stdout, `"remaining":0`) && strings.Contains(r.stdout, `"limit_name":"all"`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s%s", r.stdout, r.stderr)
		}
	}
}
