package e2e

import (
	"net"
	"strings"
	"testing"
)

// serveOn returns the flags of a daemon on free ports, with others that overrule them.
func serveOn(args ...string) []string {
	return append([]string{
		"serve", "--gossip", "127.0.0.1:0", "--peer", "127.0.0.1:0",
		"--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
	}, args...)
}

// TestServeRefuses starts daemons that must not start. All that is wrong is said at once, with its place, and nothing
// is on stdout, from which others read addresses.
func TestServeRefuses(t *testing.T) {
	limits := file(t, "limits.yaml", `version: 1
policies:
  api:
    key: [user]
    limits: [{rate: 10/minuts}]
  web:
    key: user
    limits: [{rate: 10/min, bursts: 5}]
`)
	settings := file(t, "drossel.yaml", `name: n1
gosip: 127.0.0.1:0
partitions: many
deadline: 12
`)
	short := file(t, "short", "fifteen bytes..\n")
	empty := file(t, "empty", "\n")
	tests := []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"policies", []string{"--policy", limits}, 1, []string{
			limits + ":5:24: ", `unknown unit "minuts"`, limits + ":7:10: ", "write [user]",
			limits + ":8:29: ", `did you mean "burst"?`,
		}},
		{"settings", []string{"--config", settings}, 1, []string{
			settings + `:2:1: unknown setting "gosip", did you mean "gossip"?`,
			settings + `:3:13: partitions wants a whole number, not "many"`,
			settings + ":4:11: deadline wants a duration such as 250ms",
		}},
		{"no such policies", []string{"--policy", limits + ".no"}, 2, []string{limits + ".no"}},
		{"no such settings", []string{"--config", settings + ".no"}, 2, []string{settings + ".no"}},
		{"no such secret", []string{"--secret-file", short + ".no"}, 2, []string{short + ".no"}},
		{"HTTP for all without a secret", []string{"--http", "0.0.0.0:0"}, 1,
			[]string{"--http", "--secret-file", "--insecure"}},
		{"gRPC for all without a secret", []string{"--grpc", ":0"}, 1, []string{"--grpc", "--secret-file", "--insecure"}},
		{"gossip for all without a secret", []string{"--gossip", "0.0.0.0:0"}, 1, []string{"--secret-file", "--insecure"}},
		{"short secret", []string{"--secret-file", short}, 1, []string{"15 bytes", "at least 16"}},
		{"empty secret", []string{"--secret-file", empty}, 1, []string{empty, "head -c 32 /dev/urandom"}},
		{"deadline", []string{"--deadline", "1us"}, 1, []string{"Deadline is 1µs, want 1ms to 1h"}},
		{"partitions", []string{"--partitions", "-1"}, 1, []string{"Partitions is -1, want 1 to 65535"}},
		{"memory", []string{"--table-bytes", "1"}, 1, []string{"TableBytes is 1, want at least"}},
		{"log level", []string{"--log-level", "loud"}, 1, []string{`--log-level is "loud", want debug, info, warn or error`}},
		{"three at once", []string{"--deadline", "1us", "--log-level", "loud", "--policy", limits}, 1,
			[]string{"Deadline", "--log-level", limits + ":5:24"}},
		{"argument", []string{"now"}, 1, []string{"now"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, serveOn(tt.args...)...)
			r.wants(t, tt.code, tt.says...)
			if r.stdout != "" || !strings.HasPrefix(r.stderr, "drossel: ") {
				t.Errorf("stdout is %q, stderr %q", r.stdout, r.stderr)
			}
		})
	}
}

// TestPortInUse has another process on each port of a daemon in turn.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, flag := range []string{"--gossip", "--peer", "--grpc", "--http"} {
		t.Run(flag, func(t *testing.T) {
			r := run(t, serveOn(flag, l.Addr().String())...)
			r.wants(t, 2, flag, l.Addr().String(), "in use")
			if r.stdout != "" {
				t.Errorf("it says that it is ready: %s", r.stdout)
			}
		})
	}
}

// TestInsecure listens for all machines, since that was asked for by name, or with a secret.
func TestInsecure(t *testing.T) {
	secret := file(t, "secret", "sixteen bytes ok\n")
	for name, args := range map[string][]string{"insecure": {"--insecure"}, "secret": {"--secret-file", secret}} {
		t.Run(name, func(t *testing.T) {
			d := start(t, append(args, "--http", "0.0.0.0:0")...)
			_, port, err := net.SplitHostPort(d.http)
			if err != nil {
				t.Fatal(err)
			}
			run(t, "check", "--addr", "127.0.0.1:"+port, "jobs", "x", "--limit", "1/h").wants(t, 0, "allowed: 0 of 1 left")
		})
	}
}
