package e2e

import (
	"regexp"
	"testing"
)

// TestStrangers points nodes at each other that differ in what must be the same on all nodes of a cluster. Both stay by
// themselves, one as a cluster and one as a guest of none, serve, and at least one says what both have.
func TestStrangers(t *testing.T) {
	t.Parallel()
	one := file(t, "one", "the secret of one cluster")
	two := file(t, "two", "the secret of another cluster")
	tests := []struct {
		name         string
		first, other []string
		says         *regexp.Regexp // its groups are the two values
	}{
		{"label", []string{"--label", "north"}, []string{"--label", "south"},
			regexp.MustCompile(`its_label=(\S+) .*our_label=(\S+) `)},
		{"secret", []string{"--secret-file", one}, []string{"--secret-file", two},
			regexp.MustCompile(`its_secret=(\S+) .*our_secret=(\S+)`)},
		{"secret and none", nil, []string{"--secret-file", two},
			regexp.MustCompile(`its_secret=(\S+) .*our_secret=(\S+)`)},
		{"partitions", []string{"--partitions", "1021"}, []string{"--partitions", "509"},
			regexp.MustCompile(`has [\\"]+(partitions=\d+ ).* has [\\"]+(partitions=\d+ )`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			limits := file(t, "limits.yaml", policies)
			first := start(t, append(tt.first, "--name", "first", "--policy", limits)...)
			other := start(t, append(tt.other, "--name", "other", "--policy", limits, "--join", first.gossip,
				"--join-timeout", "1s")...)
			both := []*daemon{first, other}
			waitFor(t, "a log line with both values", func() bool {
				for _, d := range both {
					for _, values := range tt.says.FindAllStringSubmatch(d.stderr.String(), -1) {
						if values[1] != values[2] {
							return true
						}
					}
				}
				return false
			})
			for i, d := range both {
				state := []string{"active", "guest"}[i]
				if list, code := d.members(t); len(list) != 1 || list[0].State != state || code != i {
					t.Errorf("%s: exit code %d, members %+v, want itself alone, %s", d.name, code, list, state)
				}
				run(t, "check", "--addr", d.http, "api", "ann").wants(t, 0, "allowed: 9 of 10 left", "at "+d.name)
			}
		})
	}
}
