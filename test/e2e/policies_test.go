package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// burstOf is a text with one policy.
func burstOf(burst int) string {
	return fmt.Sprintf("version: 1\npolicies: {api: {key: [user], limits: [{rate: 1/h, burst: %d}]}}\n", burst)
}

// goesBy waits until a daemon decides by a burst, and returns how long that took.
func goesBy(t *testing.T, d *daemon, burst int) time.Duration {
	t.Helper()
	begun := time.Now()
	client := newWeb(t)
	waitFor(t, fmt.Sprintf("%s to go by a burst of %d", d.name, burst), func() bool {
		var a answer
		status, err := client.post(t.Context(), "http://"+d.http+"/v1/check", look("ann"), &a)
		return err == nil && status == http.StatusOK && a.Limit == int64(burst)
	})
	return time.Since(begun)
}

// TestApply applies policies at one node of three: all have them when the command returns; so has one that joins later, before it is
// ready, and all of them after every one was down. Counts survive.
func TestApply(t *testing.T) {
	t.Parallel()
	first := file(t, "limits.yaml", burstOf(10))
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()}
	begin := func(i int, join string) *daemon {
		t.Helper()
		args := []string{"--name", fmt.Sprint("n", i+1), "--data-dir", dirs[i], "--policy", first, "--deadline", "1s"}
		if join != "" {
			args = append(args, "--join", join)
		}
		return start(t, args...)
	}
	all := []*daemon{begin(0, "")}
	for i := range 2 {
		all = append(all, begin(i+1, all[0].gossip))
	}
	client := newWeb(t)
	for range 4 {
		client.check(t, all[0], ask("ann"))
	}
	second := file(t, "second.yaml", burstOf(20))
	begun := time.Now()
	run(t, "policy", "apply", second, "--addr", all[1].http).wants(t, 0, "edition 1 (", "applies", "n1", "n2", "n3", "has it")
	t.Logf("applied at three nodes after %.2f s", time.Since(begun).Seconds())
	for _, d := range all {
		goesBy(t, d, 20)
	}
	if a := client.check(t, all[2], look("ann")); a.Remaining != 6 {
		t.Errorf("%d are left, want the 6 of before: raising a limit grants nothing", a.Remaining)
	}
	run(t, "policy", "apply", second, "--addr", all[2].http).wants(t, 0, "applies already")
	bad := file(t, "bad.yaml", "version: 1\npolicies:\n  api: {key: [user], limits: [{rate: 10/0s}]}\n")
	run(t, "policy", "apply", bad, "--addr", all[0].http).wants(t, 1, "bad.yaml:3:", "want a period above zero")
	third := file(t, "third.yaml", burstOf(5))
	run(t, "policy", "diff", third, "--addr", all[0].http).wants(t, 1, "-policies: {api: {key: [user], limits: [{rate: 1/h, burst: 20}]}}", "burst: 5")
	run(t, "policy", "apply", third, "--addr", all[0].http).wants(t, 0, "edition 2 (")
	if a := client.check(t, all[1], look("ann")); a.Remaining != 5 || a.Limit != 5 {
		t.Errorf("%+v, want 5 of 5 left: lowering a limit takes effect at once", a)
	}
	run(t, "policy", "history", "--addr", all[2].http).wants(t, 0, "EDITION", "second.yaml", "third.yaml")
	run(t, "policy", "show", "--addr", all[2].http).wants(t, 0, burstOf(5), "edition 2 (", "its own source, file")
	run(t, "policy", "show", "1", "--addr", all[2].http).wants(t, 0, burstOf(20))
	run(t, "policy", "show", "9", "--addr", all[2].http).wants(t, 1, "no such edition")
	run(t, "policy", "diff", "1", "2", "--addr", all[2].http).wants(t, 1, "+policies")
	run(t, "policy", "rollback", "--addr", all[2].http).wants(t, 0, "edition 3 (")
	all = append(all, begin(3, all[0].gossip))
	if status, body := client.get(t, all[3], "/v1/policies"); status != http.StatusOK || !strings.Contains(body, "burst: 20") {
		t.Errorf("a node that has joined has %d, %s", status, body)
	}
	for _, d := range all {
		d.kill(t)
	}
	again := begin(2, "")
	goesBy(t, again, 20)
	run(t, "policy", "history", "--addr", again.http).wants(t, 0, "back to 1")
	run(t, "policy", "withdraw", "--addr", again.http).wants(t, 0, "go by their own policies")
	goesBy(t, again, 10)
}

// TestPolicyFile changes the file of a running node: in place, by rename, and as Kubernetes does with a ConfigMap. A bad change is
// explained, and changes nothing.
func TestPolicyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		tmp := filepath.Join(dir, "tmp")
		if err := os.Symlink(to, tmp); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("..1/limits.yaml", burstOf(1))
	link("..1", "..data")
	link("..data/limits.yaml", "limits.yaml")
	d := start(t, "--policy", filepath.Join(dir, "limits.yaml"))
	goesBy(t, d, 1)
	write("..2/limits.yaml", burstOf(2))
	link("..2", "..data")
	took := goesBy(t, d, 2)
	t.Logf("a ConfigMap that was swapped was live after %.0f ms", float64(took.Microseconds())/1000)
	if took > 10*time.Second {
		t.Errorf("live after %v, want less than a second", took)
	}
	write("..2/limits.yaml", "version: 1\npolicies: {api: {key: user}}\n")
	waitFor(t, "a bad change to be explained", func() bool { return strings.Contains(d.stderr.String(), "limits.yaml:2:") })
	run(t, "policy", "show", "--addr", d.http).wants(t, 0, burstOf(2), "its own source: ", "limits.yaml:2:")
	goesBy(t, d, 2)
	write("..2/limits.yaml", burstOf(3))
	goesBy(t, d, 3)
}

// TestPolicyConsul has a node follow a key of Consul.
func TestPolicyConsul(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	index, text, changed := 1, burstOf(4), make(chan struct{})
	consul := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if r.URL.Query().Get("index") == fmt.Sprint(index) { // nothing new: it waits
			c := changed
			mu.Unlock()
			select {
			case <-c:
			case <-r.Context().Done():
				return
			}
			mu.Lock()
		}
		defer mu.Unlock()
		if r.URL.Path != "/v1/kv/drossel/policies" || r.Header.Get("X-Consul-Token") != "sesame" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("X-Consul-Index", fmt.Sprint(index))
		fmt.Fprintf(w, `[{"Key":"drossel/policies","Value":%q,"ModifyIndex":%d}]`, base64.StdEncoding.EncodeToString([]byte(text)), index)
	}))
	t.Cleanup(consul.Close)
	d := start(t, "--policy-consul", "drossel/policies", "--consul", consul.URL, "--consul-token-file", file(t, "token", "sesame\n"))
	goesBy(t, d, 4)
	mu.Lock()
	index, text = index+1, burstOf(6)
	close(changed)
	changed = make(chan struct{})
	mu.Unlock()
	took := goesBy(t, d, 6)
	t.Logf("a change in Consul was live after %.0f ms", float64(took.Microseconds())/1000)
	run(t, "policy", "show", "--addr", d.http).wants(t, 0, burstOf(6), "shared consul key drossel/policies")
	d.terminate(t)
}

// TestPolicyEtcd has two nodes follow a key of etcd.
func TestPolicyEtcd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("needs etcd-server")
	}
	client, peer := "http://"+freeAddress(t), "http://"+freeAddress(t)
	var said output
	etcd := exec.Command("etcd", "--name", "test", "--data-dir", t.TempDir(), "--initial-cluster", "test="+peer,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--listen-client-urls", client, "--advertise-client-urls", client)
	etcd.Stdout, etcd.Stderr = &said, &said
	if err := etcd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		etcd.Process.Kill()
		etcd.Wait()
	})
	web := newWeb(t)
	put := func(text string) bool {
		var out struct{}
		status, err := web.post(t.Context(), client+"/v3/kv/put", map[string][]byte{"key": []byte("/drossel/policies"), "value": []byte(text)}, &out)
		return err == nil && status == http.StatusOK
	}
	waitFor(t, "etcd to take a key", func() bool { return put(burstOf(4)) })
	var all []*daemon
	for range 2 {
		all = append(all, start(t, "--policy-etcd", "/drossel/policies", "--etcd", client))
	}
	for _, d := range all {
		goesBy(t, d, 4)
	}
	if !put(burstOf(6)) {
		t.Fatal(said.String())
	}
	for _, d := range all {
		t.Logf("a change in etcd was live after %.0f ms", float64(goesBy(t, d, 6).Microseconds())/1000)
	}
	run(t, "policy", "show", "--addr", all[0].http).wants(t, 0, burstOf(6), "shared etcd key /drossel/policies")
	put("version: 2\n")
	waitFor(t, "a bad change to be explained", func() bool { return strings.Contains(all[1].stderr.String(), "version") })
	goesBy(t, all[1], 6)
}

// TestPolicyFlags: what can't be is refused, and why.
func TestPolicyFlags(t *testing.T) {
	t.Parallel()
	limits := file(t, "limits.yaml", burstOf(1))
	run(t, "serve", "--policy", limits, "--policy-etcd", "k").wants(t, 1, "want one of them")
	run(t, "serve", "--policy-consul", "/k").wants(t, 1, "Key")
	run(t, "serve", "--policy-etcd", "k", "--etcd-password-file", "/nonexistent").wants(t, 2, "--etcd-password-file")
	run(t, "serve", "--data-dir", limits).wants(t, 2, "--data-dir")
}
