package main

import (
	"strings"
	"testing"
)

func TestPolicyImportEnvoy(t *testing.T) {
	folder(t, map[string]string{
		"edge.yaml": "domain: edge\ndescriptors:\n- {key: user, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 10}}\n",
		"mesh.yaml": "domain: mesh\ndescriptors:\n- {key: user, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 5}}\n",
		"bad.yaml":  "domain: bad\ndescriptors:\n- {key: user, rate_limit: {unit: minuts}}\n",
	})
	const noted = "note: edge.yaml:3: detailed_metric: metrics here"
	written := drossel(t, "", "policy", "import", "envoy", "edge.yaml")
	if written.code != exitYes || !strings.HasPrefix(written.errors, noted) || !strings.Contains(written.out, "\n  edge.user:\n") {
		t.Errorf("%+v", written)
	}
	valid := drossel(t, written.out, "policy", "validate", "-")
	valid.wants(t, said{exitYes, "-: 1 policy, 1 limit, 0 tiers, 0 overrides\n", ""})
	explained := drossel(t, written.out, "policy", "explain", "-", "--attr", "domain=edge", "--attr", "descriptor=user", "--attr", "user=ann")
	if explained.code != exitYes || !strings.Contains(explained.out, "edge.user") {
		t.Errorf("%+v", explained)
	}

	for _, tt := range []struct {
		stdin string
		args  []string
		code  int
		out   string // a part of it; "" if there is none
		err   string
	}{
		{"", []string{"edge.yaml", "mesh.yaml"}, exitNo, "", "other decisions: mesh.yaml:3: quota_mode: "},
		{"", []string{"mesh.yaml"}, exitNo, "", "drossel: nothing is written, for decisions would be others (1 of"},
		{"", []string{"mesh.yaml", "edge.yaml", "--lossy"}, exitYes, "mesh.user:", "other decisions: mesh.yaml:3: quota_mode: "},
		{"domain: stdin\ndescriptors: [{key: a, rate_limit: {unlimited: true}}]", []string{"-"}, exitYes, "# stdin:2\n", ""},
		{"", []string{"bad.yaml"}, exitNo, "", `bad.yaml:3:34: "user": rate_limit: unknown unit "minuts": did you mean "minute"?`},
		{"", []string{"absent.yaml"}, exitUnknown, "", "absent.yaml"},
		{strings.Repeat("#", 1<<20+1), []string{"-"}, exitNo, "", "more than 1048576 bytes"},
		{"", nil, exitNo, "", "requires at least 1 arg"},
	} {
		got := drossel(t, tt.stdin, append([]string{"policy", "import", "envoy"}, tt.args...)...)
		if got.code != tt.code || !strings.Contains(got.errors, tt.err) || !strings.Contains(got.out, tt.out) || tt.out == "" && got.out != "" {
			t.Errorf("%q: %+v, want %+v", tt.args, got, tt)
		}
	}
	if got := drossel(t, "", "policy", "import"); got.code != exitYes || !strings.Contains(got.out, "import envoy config.yaml") {
		t.Errorf("%+v", got)
	}
}
