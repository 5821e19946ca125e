package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gateway is how a program runs with the example that is its own.
type gateway struct {
	program string
	files   []string // the first is the one it is told
	args    func(file, dir string) []string
	fields  []string // that a served request has
}

var gateways = map[string]gateway{
	"nginx": {"nginx", []string{"nginx.conf"}, func(file, dir string) []string {
		return []string{"-p", dir, "-c", file, "-e", "stderr", "-g", "daemon off; pid " + dir + "/pid; error_log stderr;"}
	}, []string{"RateLimit", "RateLimit-Policy"}},
	"caddy":   {"caddy", []string{"Caddyfile"}, func(file, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} }, nil},
	"haproxy": {"haproxy", []string{"haproxy.cfg", "haproxy.lua"}, func(file, dir string) []string { return []string{"-db", "-C", dir, "-f", file} }, nil},
}

// TestGateways puts programs of others before a small service, with the example configurations. They deny at the right request, with all that a
// client needs to know, whatever it writes into headers; and if no node answers, requests go on.
func TestGateways(t *testing.T) {
	nodes := threeNodes(t, `{version: 1, attributes: {ip: {ipv4: 32}}, policies: {
		pages: {when: {route: "/pages/*", method: GET, ip: present}, key: [ip], limits: [{rate: 5/h}]}}}`)
	for name, g := range gateways {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(g.program); err != nil {
				t.Skipf("%s is not installed: test/run installs it", g.program)
			}
			var served atomic.Int64
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				served.Add(1)
				body, _ := io.ReadAll(r.Body)
				fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
			}))
			defer service.Close()
			source := "127.0.5." + map[string]string{"nginx": "1", "caddy": "2", "haproxy": "3"}[name]
			relay := newRelay(t, nodes[0].http)
			at := g.run(t, name, relay.addr, service.Listener.Addr().String())
			for i := range 7 {
				res, body := request(t, source, "GET", at+"/pages/"+fmt.Sprint(i)+"?q=1", http.Header{
					// None of these counts: the gateway says who asks for what.
					"X-Forwarded-For": {fmt.Sprintf("9.9.9.%d", i)}, "X-Forwarded-Uri": {"/free"}, "X-Forwarded-Method": {"POST"}, "X-Real-Ip": {"8.8.8.8"},
				})
				switch {
				case i < 5 && (res.StatusCode != 200 || body != fmt.Sprintf("GET /pages/%d?q=1 ", i)):
					t.Fatalf("request %d: %d %q", i, res.StatusCode, body)
				case i < 5:
					for _, f := range g.fields {
						if res.Header.Get(f) == "" {
							t.Errorf("request %d has no %s: %v", i, f, res.Header)
						}
					}
				case res.StatusCode != 429 || !strings.Contains(body, "quota-exceeded") || res.Header.Get("Content-Type") != "application/problem+json":
					t.Fatalf("request %d: %d %v %q, want 429 with a problem", i, res.StatusCode, res.Header, body)
				case !isSeconds(res.Header.Get("Retry-After"), 720):
					t.Errorf("request %d: Retry-After is %q, want up to 720 s", i, res.Header.Get("Retry-After"))
				}
			}
			if n := served.Load(); n != 5 {
				t.Errorf("the service was asked %d times, want 5", n)
			}
			if res, body := request(t, source, "POST", at+"/pages/x", nil); res.StatusCode != 200 || body != "POST /pages/x " {
				t.Errorf("what no policy is for: %d %q", res.StatusCode, body)
			}
			if res, _ := request(t, "127.0.6.1", "GET", at+"/pages/x", nil); name == "nginx" && res.StatusCode != 200 {
				t.Errorf("another client: %d", res.StatusCode)
			}
			relay.cut()
			begun := time.Now()
			if res, body := request(t, source, "GET", at+"/pages/y", nil); res.StatusCode != 200 || body != "GET /pages/y " {
				t.Errorf("without a node: %d %q, want it to go on", res.StatusCode, body)
			}
			t.Logf("without a node a request took %v", time.Since(begun).Round(time.Millisecond))
		})
	}
}

func isSeconds(text string, most int) bool {
	var n int
	_, err := fmt.Sscanf(text, "%d", &n)
	return err == nil && n >= 1 && n <= most
}

// threeNodes starts a cluster that knows the policies.
func threeNodes(t *testing.T, policies string) []*daemon {
	t.Helper()
	name := file(t, "limits.yaml", policies)
	nodes := []*daemon{start(t, "--name", "n1", "--deadline", "1s", "--policy", name)}
	for _, id := range []string{"n2", "n3"} {
		nodes = append(nodes, start(t, "--name", id, "--deadline", "1s", "--join", nodes[0].gossip, "--policy", name))
	}
	waitFor(t, "three nodes to be one cluster", func() bool {
		for _, d := range nodes {
			list, _ := d.members(t)
			owned := 0
			for _, m := range list {
				if m.Status != nil && m.Status.Partitions > 0 {
					owned++
				}
			}
			if owned != 3 {
				return false
			}
		}
		return true
	})
	return nodes
}

// run starts the gateway with its example before a node and a service, and returns its URL.
func (g gateway) run(t *testing.T, name, node, service string) string {
	t.Helper()
	dir, at := t.TempDir(), freeAddress(t)
	for _, f := range g.files {
		text, err := os.ReadFile(filepath.Join("..", "gateways", f))
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.NewReplacer("127.0.0.1:8080", at, "127.0.0.1:7080", node, "127.0.0.1:9000", service,
			"100ms", "10s", "timeout = 100 ", "timeout = 10000 ", // a busy machine must not let requests pass
		).Replace(string(text)))
		if err := os.WriteFile(filepath.Join(dir, f), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(dir, 0o755)
	var log output
	cmd := exec.Command(g.program, g.args(filepath.Join(dir, g.files[0]), dir)...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &log, &log, dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		defer late.Stop()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%.5000s", name, log.String())
		}
	})
	waitFor(t, name+" to listen", func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return "http://" + at
}

// request sends a request from an address of loopback.
func request(t *testing.T, source, method, url string, h http.Header) (*http.Response, string) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if h != nil {
		req.Header = h
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// relay passes connections on, until it is cut.
type relay struct {
	addr string
	l    net.Listener
	mu   sync.Mutex
	all  []net.Conn
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{addr: l.Addr().String(), l: l}
	t.Cleanup(r.cut)
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			into, err := net.Dial("tcp", to)
			if err != nil {
				from.Close()
				continue
			}
			r.mu.Lock()
			r.all = append(r.all, from, into)
			r.mu.Unlock()
			go func() { io.Copy(into, from); into.Close() }()
			go func() { io.Copy(from, into); from.Close() }()
		}
	}()
	return r
}

func (r *relay) cut() {
	r.l.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.all {
		c.Close()
	}
}
