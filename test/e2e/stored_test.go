package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const storedPolicies = `version: 1
policies:
  api:
    key: [user]
    limits: [{rate: 1/h, burst: 10}]
    tiers: {gold: {limits: [{rate: 1/h, burst: 1000}]}}
`

// TestLimitsStore gives keys limits of their own at one node of three, and sees them at all, after the owner of a key was killed, after a
// roll, and after all were killed and started again.
func TestLimitsStore(t *testing.T) {
	t.Parallel()
	policies := file(t, "limits.yaml", storedPolicies)
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	begin := func(i int, join ...*daemon) *daemon {
		t.Helper()
		args := []string{"--name", fmt.Sprint("n", i+1), "--data-dir", dirs[i], "--policy", policies, "--deadline", "1s"}
		for _, d := range join {
			args = append(args, "--join", d.gossip)
		}
		return start(t, args...)
	}
	all := []*daemon{begin(0)}
	all = append(all, begin(1, all[0]))
	all = append(all, begin(2, all[0]))
	client := newWeb(t)
	at := func(d *daemon, key string, burst int64) bool {
		t.Helper()
		var a answer
		status, err := client.post(t.Context(), "http://"+d.http+"/v1/check", look(key), &a)
		return err == nil && status == http.StatusOK && a.Limit == burst
	}
	everywhere := func(what, key string, burst int64) {
		t.Helper()
		begun := time.Now()
		for _, d := range all {
			waitFor(t, fmt.Sprintf("%s: %s at %s to have a burst of %d", what, key, d.name, burst), func() bool { return at(d, key, burst) })
		}
		t.Logf("%s: %s everywhere after %.2f s", what, key, time.Since(begun).Seconds())
	}
	run(t, "limits", "set", "api", "acme", "--tier", "gold", "--addr", all[0].http).
		wants(t, 0, "api acme is with n", "on its disk", "with a copy at another node")
	for _, d := range all { // at once
		if !at(d, "acme", 1000) {
			t.Errorf("%s does not know of it", d.name)
		}
	}
	run(t, "limits", "get", "api", "acme", "--addr", all[1].http).wants(t, 0, `{"tier":"gold"}`)
	run(t, "policy", "explain", "--policy", "api", "--key", "acme", "--addr", all[2].http).
		wants(t, 0, `limits  of the key alone: {"tier":"gold"}`, "api: 1/h, burst 1000, takes 1 request")
	run(t, "limits", "get", "api", "eve", "--addr", all[1].http).wants(t, 1, "no limits of its own")
	run(t, "limits", "set", "api", "acme", "--tier", "glod", "--addr", all[1].http).wants(t, 1, `did you mean "gold"`)
	run(t, "limits", "set", "api", "acme", "--tier", "gold", "--rate", "1/s", "--addr", all[1].http).wants(t, 1, "one of")

	var lines strings.Builder
	lines.WriteString("key,tier,rate,burst,remove\n")
	for i := range 3000 {
		fmt.Fprintf(&lines, "customer-%d,,1/h,%d,\n", i, 100+i)
	}
	lines.WriteString("gone,gold,,,\ngone,,,,true\nbad,glod,,,\n")
	customers := file(t, "customers.csv", lines.String())
	run(t, "limits", "import", customers, "--policy", "api", "--addr", all[2].http).
		wants(t, 1, "3002 set, 1 refused", "customers.csv:3004: ", `did you mean "gold"`)
	everywhere("imported", "customer-2999", 3099)
	everywhere("imported", "gone", 10)

	owner := client.check(t, all[0], look("acme")).Node
	for i, d := range all {
		if d.name == owner {
			d.kill(t)
			all = append(all[:i:i], all[i+1:]...)
			everywhere("its owner killed", "acme", 1000)
			all = append(all, begin(i, all[0]))
			break
		}
	}
	everywhere("the owner is back", "acme", 1000)
	run(t, "limits", "set", "api", "acme", "--rate", "1/h", "--burst", "77", "--addr", all[0].http).wants(t, 0, "on its disk")
	run(t, "limits", "rm", "api", "customer-7", "--addr", all[1].http).wants(t, 0, "removed")
	everywhere("set again", "acme", 77)
	for range 3 {
		first := all[0]
		first.terminate(t)
		all = append(all[1:], begin(int(first.name[1]-'1'), all[1]))
	}
	everywhere("after a roll", "acme", 77)
	for _, d := range all {
		d.kill(t)
	}
	all = []*daemon{begin(2)}
	all = append(all, begin(0, all[0]))
	all = append(all, begin(1, all[0]))
	everywhere("all were down", "acme", 77)
	everywhere("all were down", "customer-1234", 1334)
	everywhere("all were down", "customer-7", 10)
}
