package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestDemo runs the demonstration, which holds what it admits against the promise.
func TestDemo(t *testing.T) {
	r := run(t, "demo", "--duration", "2s", "--json")
	r.wants(t, 0)
	type sums struct {
		Checks       int64 `json:"checks"`
		Admitted     int64 `json:"admitted"`
		Bound        int64 `json:"bound"`
		OverAdmitted int64 `json:"over_admitted"`
		Crash        int64 `json:"allowance_crash"`
		Rule         int64 `json:"allowance_rule"`
		Used         int64 `json:"allowance_used"`
		Decided      struct {
			Own       int64 `json:"own"`
			Lease     int64 `json:"lease"`
			DenyLease int64 `json:"deny_lease"`
			Forwarded int64 `json:"forwarded"`
			Rule      int64 `json:"rule"`
		} `json:"decided"`
		LocalShare float64 `json:"local_share"`
		P99        float64 `json:"p99_seconds"`
	}
	var got struct {
		sums
		Hot       sums    `json:"hot_key"`
		Others    sums    `json:"other_keys"`
		Killed    string  `json:"killed"`
		Lost      int     `json:"lost_keys"`
		Ownerless float64 `json:"ownerless_seconds"`
		Errors    int64   `json:"errors"`
		Messages  int64   `json:"lease_messages"`
		HotLeases struct {
			Out      int64 `json:"out"`
			Lendable int64 `json:"lendable"`
		} `json:"hot_key_leases"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	for _, s := range []sums{got.sums, got.Hot, got.Others} {
		d := s.Decided
		if s.Checks == 0 || s.Admitted == 0 || s.Admitted > s.Bound || s.OverAdmitted != 0 ||
			d.Own+d.Lease+d.DenyLease+d.Forwarded+d.Rule != s.Checks || s.Crash == 0 || s.Used > s.Crash+s.Rule {
			t.Errorf("%+v", s)
		}
	}
	if got.Errors != 0 || got.Checks != got.Hot.Checks+got.Others.Checks || got.Admitted != got.Hot.Admitted+got.Others.Admitted {
		t.Errorf("%+v", got)
	}
	if got.Killed == "" || got.Lost == 0 || got.Lost == 201 || got.Ownerless <= 0 {
		t.Errorf("nobody was killed: %+v", got)
	}
	if got.Hot.Decided.Lease == 0 || got.Messages == 0 || got.HotLeases.Out > got.HotLeases.Lendable {
		t.Errorf("nothing was decided by leases: %+v", got)
	}
	t.Logf("%+v", got)
	run(t, "demo", "--duration", "20ms").wants(t, 1, "at least 1s")
}

// TestReplay plays the small log: how many nodes there are makes no difference, nor does the way in.
func TestReplay(t *testing.T) {
	want := replayed{Requests: 53, Admitted: 43, Denied: 10, Skipped: 6, Keys: 8, DeniedKeys: 2}
	var first string
	for nodes := 1; nodes <= 5; nodes++ {
		args := []string{smallLog, "--rate", "5/min", "--nodes", fmt.Sprint(nodes)}
		want.Nodes = nodes
		if got := (command{}).replay(t, args...); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		r := run(t, append([]string{"replay"}, args...)...)
		r.wants(t, 0, fmt.Sprintf("nodes     %9d", nodes))
		text := strings.Replace(r.stdout, fmt.Sprintf("nodes     %9d", nodes), "", 1)
		if first == "" {
			first = text
			r.wants(t, 0, "requests         53", "admitted         43", "denied           10", "skipped           6",
				"198.51.100.23", "lines not understood (the first 5 of 6)")
		}
		if text != first {
			t.Errorf("with %d nodes it says something else:\n%s\nand with one:\n%s", nodes, text, first)
		}
	}
	log, err := os.Open(smallLog)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	want.Nodes = 3
	if got := (command{stdin: log}).replay(t, "-", "--rate", "5/min"); got != want {
		t.Errorf("from stdin: %+v, want %+v", got, want)
	}
	limits := file(t, "limits.yaml", `
version: 1
policies:
  web: {key: [ip], limits: [{rate: 5/min}]}
  all: {key: [], limits: [{rate: 1/h}]}
`)
	if got := (command{}).replay(t, smallLog, "--policy", limits, "--use", "web"); got != want {
		t.Errorf("with a policy: %+v, want %+v", got, want)
	}
	if got := (command{}).replay(t, smallLog, "--policy", limits); got.Admitted != 1 || got.Requests != want.Requests {
		t.Errorf("by all policies that match: %+v, want one admitted, as one of them has it", got)
	}
	run(t, "replay", smallLog, "--policy", limits, "--use", "web", "--key", "ip").wants(t, 1, "leave it out")
	run(t, "replay", smallLog, "--policy", limits, "--use", "wep").wants(t, 1, `did you mean "web"?`)
	run(t, "replay", smallLog, "--policy", limits, "--rate", "1/s").wants(t, 1, "say the same thing twice")
	run(t, "replay", smallLog+".no").wants(t, 2, smallLog+".no")
	run(t, "replay", smallLog, "--rate", "5/fortnight").wants(t, 1, "--rate", `unknown unit "fortnight"`)
	run(t, "replay", smallLog, "--key", "colour").wants(t, 1, `"colour"`, "not in an access log")
	run(t, "replay", smallLog, "--nodes", "0").wants(t, 1, "0 nodes, want 1 to")
	run(t, "replay", file(t, "empty.log", ""), "--json").wants(t, 0, `"requests":0`)
	run(t, "replay", file(t, "cut.log.gz", "\x1f\x8b\x08")).wants(t, 2, "cut.log.gz")
}

// TestReplayLarge plays a log of 10,000 requests, if it lies beside the repository.
func TestReplayLarge(t *testing.T) {
	const log = "../../../shared/data/access.log.gz"
	if _, err := os.Stat(log); errors.Is(err, fs.ErrNotExist) {
		t.Skip(err)
	}
	for _, nodes := range []int{1, 5} {
		got := command{}.replay(t, log, "--rate", "100/h", "--burst", "20", "--nodes", fmt.Sprint(nodes))
		if got.Admitted != 9129 || got.Denied != 871 || got.DeniedKeys != 48 || got.Skipped != 0 {
			t.Errorf("%+v, want 9129 admitted and 871 denied, of 48 keys", got)
		}
	}
	// Two limits of one policy are a group: together they deny other requests than each alone.
	second, hour := "{rate: 1/s, burst: 3}", "{rate: 200/h, burst: 30}"
	for _, c := range []struct {
		limits               string
		admitted, denied, of int
	}{
		{second, 9863, 137, 19},
		{hour, 9652, 348, 18},
		{second + ", " + hour, 9643, 357, 25},
	} {
		limits := file(t, "limits.yaml", "version: 1\npolicies: {web: {key: [ip], limits: ["+c.limits+"]}}\n")
		for _, nodes := range []int{1, 3, 5} {
			got := command{}.replay(t, log, "--policy", limits, "--nodes", fmt.Sprint(nodes))
			if got.Admitted != c.admitted || got.Denied != c.denied || got.DeniedKeys != c.of {
				t.Errorf("%s on %d nodes: %+v, want %d admitted and %d denied, of %d keys", c.limits, nodes, got, c.admitted, c.denied, c.of)
			}
		}
	}
}

func TestCommands(t *testing.T) {
	run(t, "version").wants(t, 0, "drossel ", " go1.", "frames 8 to 10")
	run(t, "completion", "bash").wants(t, 0, "bash completion", "__start_drossel")
	run(t, "--help").wants(t, 0, "serve", "check", "members", "ring", "leases", "replay", "demo",
		"DROSSEL_TABLE_BYTES", "Exit codes:")
	run(t, "members", "--help").wants(t, 0, "guest", "--expect N", "forget")
	run(t, "members", "forget", "--help").wants(t, 0, "Forget has the node at --addr drop a member", "forget NAME")
	run(t, "members", "forget").wants(t, 1, "accepts 1 arg(s), received 0")
	run(t, "members", "n2").wants(t, 1, `unknown command "n2"`)
	run(t, "serve", "--help").wants(t, 0, "--gossip", "--secret-file", "SIGTERM")
	run(t, "--colour").wants(t, 1, "unknown flag: --colour")
	run(t, "serv").wants(t, 1, `unknown command "serv"`, "serve")
}

// TestRing shows who owns what: all of it is owned, and would go to the others.
func TestRing(t *testing.T) {
	nodes := cluster(t, 2, "--partitions", "101")
	r := run(t, "ring", "--addr", nodes[1].http, "--json")
	var ring struct {
		Node    string `json:"node"`
		Members []struct {
			ID         string         `json:"id"`
			Partitions int            `json:"partitions"`
			FailsOver  map[string]int `json:"fails_over"`
		} `json:"members"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &ring); err != nil || r.code != 0 || len(ring.Members) != 2 {
		t.Fatalf("code %d, %v: %s%s", r.code, err, r.stdout, r.stderr)
	}
	a, b := ring.Members[0], ring.Members[1]
	if ring.Node != "n2" || a.Partitions+b.Partitions != 101 ||
		a.FailsOver["n2"] != a.Partitions || b.FailsOver["n1"] != b.Partitions {
		t.Errorf("%+v", ring)
	}
	run(t, "ring", "--addr", nodes[1].http).wants(t, 0,
		"as n2 sees it: partitions=101 ", "IF LOST", fmt.Sprintf("%d to n2", a.Partitions),
		fmt.Sprintf("n2 decides %d,", b.Partitions), fmt.Sprintf("%d came", b.Partitions), "received from n1")
	run(t, "ring", "partitions", "--addr", nodes[1].http).wants(t, 0, "PARTITION", "100 ", "copy ", "open ", "received from n1")
	r = run(t, "ring", "partitions", "--addr", nodes[1].http, "--json")
	var all []struct {
		Here, Owner string
		Last        *struct{ How string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &all); err != nil || len(all) != 101 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	for i, p := range all {
		if (p.Owner == "n2") != (p.Here == "open") || (p.Owner == "n2") != (p.Last != nil && p.Last.How == "received") {
			t.Errorf("partition %d: %+v", i, p)
		}
	}
	run(t, "members", "--addr", nodes[0].http, "--expect", "2").wants(t, 0, "MEMBER", "n1", "(asked)", "n2", "up")
	run(t, "members", "--addr", nodes[0].http, "--expect", "3").wants(t, 1, "2 members, want 3")
}

// TestForget kills one of two nodes: the other has no majority, says what it waits for, and goes on alone when it is told
// that the dead one is gone for good.
func TestForget(t *testing.T) {
	nodes := cluster(t, 2, "--partitions", "101")
	alive, dead := nodes[0], nodes[1]
	forget := func(name string) result { return run(t, "members", "forget", name, "--addr", alive.http) }
	forget("n3").wants(t, 1, `no such member: "n3"`, `has ["n1" "n2"]`)
	forget("n1").wants(t, 1, "n1 is the node that was asked")
	dead.kill(t)
	const why = "n1 has no authority: 1 of 2 members acknowledges it, a majority is 2; n2 has been silent for"
	waitFor(t, "n1 to wait", func() bool {
		return strings.Contains(run(t, "members", "--addr", alive.http).stdout, why)
	})
	run(t, "members", "--addr", alive.http).wants(t, 1, "\nwarning: "+why, "`drossel members forget n2` if it is gone for good",
		"no answer: ")
	alive.logged(t, "level=WARN", "this node has no authority: 1 of 2 members acknowledges it")
	forget("n2").wants(t, 0, "n2 is forgotten")
	forget("n2").wants(t, 1, `has ["n1"]`)
	waitFor(t, "n1 to have everything", func() bool {
		return run(t, "members", "--addr", alive.http, "--expect", "1").code == 0
	})
	run(t, "members", "forget", "n1", "--addr", dead.http).wants(t, 2, "no node answers")
}
