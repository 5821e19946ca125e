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
	args    func(file, dir, at string) []string
	fields  []string // that a served request has
	refuses bool     // what no node has answered
}

var gateways = map[string]gateway{
	"nginx": {program: "nginx", files: []string{"nginx.conf"}, args: func(file, dir, _ string) []string {
		return []string{"-p", dir, "-c", file, "-e", "stderr", "-g", "daemon off; pid " + dir + "/pid; error_log stderr;"}
	}, fields: []string{"RateLimit", "RateLimit-Policy"}},
	"caddy": {program: "caddy", files: []string{"Caddyfile"}, args: func(file, _, _ string) []string {
		return []string{"run", "--adapter", "caddyfile", "--config", file}
	}},
	"haproxy": {program: "haproxy", files: []string{"haproxy.cfg", "haproxy.lua"}, args: func(file, dir, _ string) []string {
		return []string{"-db", "-C", dir, "-f", file}
	}},
	"traefik": {program: "traefik", files: []string{"traefik-dynamic.yaml"}, args: func(file, _, at string) []string {
		return []string{"--entrypoints.web.address=" + at, "--providers.file.filename=" + file, "--global.sendanonymoususage=false",
			"--global.checknewversion=false"}
	}, refuses: true},
}

// eachGateway runs f for each gateway there is.
func eachGateway(t *testing.T, f func(t *testing.T, name string, g gateway)) {
	for name, g := range gateways {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(g.program); err != nil {
				t.Skipf("%s is not installed: test/run installs what Debian has", g.program)
			}
			f(t, name, g)
		})
	}
}

// backend is a small service that says what it was asked, and how often.
type backend struct {
	addr   string
	served atomic.Int64
}

func newBackend(t *testing.T) *backend {
	b := &backend{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.served.Add(1)
		if r.URL.Path == "/broken" {
			panic(http.ErrAbortHandler)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	t.Cleanup(server.Close)
	b.addr = server.Listener.Addr().String()
	return b
}

// TestGateways puts programs of others before a small service, with the example configurations. They deny at the right request, with all
// that a client needs to know, whatever it writes; and if no node is there, requests go on.
func TestGateways(t *testing.T) {
	nodes := cluster(t, 3, append(patient, "--auth-attribute", "api_key=X-API-Key", "--policy", file(t, "limits.yaml", `
version: 1
attributes: {ip: {ipv4: 32}}
policies:
  pages: {when: {route: "/pages/*", method: GET}, key: [ip], limits: [{rate: 5/h}]}
  host: {when: {host: api.example.com}, key: [ip], limits: [{rate: 1/h}]}
  keys: {when: {route: "/keys/*"}, key: [api_key], on_missing: deny, limits: [{rate: 1/h}]}
`))...)
	eachGateway(t, func(t *testing.T, name string, g gateway) {
		service, relay := newBackend(t), newRelay(t, nodes[0].http)
		source := "127.0.5." + map[string]string{"nginx": "1", "caddy": "2", "haproxy": "3", "traefik": "4"}[name]
		// Here they wait for a node as long as the test does: one on a slow machine must not be taken for one that is silent.
		at := g.run(t, name, relay.addr, service.addr, "100ms", "50s", "50ms", "50s", "timeout = 1000 --", "timeout = 55000 --")
		waitFor(t, name+" to have read its routes", func() bool {
			res, _ := request(t, source, "GET", at+"/any", "", nil)
			return res.StatusCode == 200
		})
		service.served.Store(0)
		for i := range 7 {
			res, body := request(t, source, "GET", at+"/pages/"+fmt.Sprint(i)+"?q=1", "", http.Header{
				// None of these counts: the gateway says who asks for what.
				"X-Forwarded-For": {fmt.Sprintf("9.9.9.%d", i)}, "X-Forwarded-Uri": {"/free"}, "X-Forwarded-Method": {"POST"},
				"X-Real-Ip": {"8.8.8.8"},
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
			default:
				denied(t, fmt.Sprint("request ", i), res, body)
				if !isSeconds(res.Header.Get("Retry-After"), 720) {
					t.Errorf("request %d: Retry-After is %q, want up to 720 s", i, res.Header.Get("Retry-After"))
				}
			}
		}
		if n := service.served.Load(); n != 5 {
			t.Errorf("the service was asked %d times, want 5", n)
		}
		t.Run("ways past", func(t *testing.T) { waysPast(t, name, source, at, service) })
		upload := strings.Repeat("x", 1<<20)
		res, body := request(t, source, "POST", at+"/pages/x", upload, nil)
		if res.StatusCode != 200 || body != "POST /pages/x "+upload {
			t.Errorf("what no policy is for: %d %.100q", res.StatusCode, body)
		}
		if res, _ := request(t, source+"0", "GET", at+"/pages/x", "", nil); res.StatusCode != 200 {
			t.Errorf("another client: %d", res.StatusCode)
		}
		before := service.served.Load()
		if res, _ := request(t, source, "POST", at+"/broken", "", nil); res.StatusCode != 502 || service.served.Load() != before+1 {
			t.Errorf("what the service breaks off: %d, asked %d times, want 502 and once", res.StatusCode, service.served.Load()-before)
		}
		relay.cut()
		res, body = request(t, source, "GET", at+"/pages/y", "", nil)
		if goes := res.StatusCode == 200 && body == "GET /pages/y "; goes == g.refuses {
			t.Errorf("without a node: %d %q", res.StatusCode, body)
		}
	})
}

// waysPast has a client that has used up its limit of pages try to get one more, and two other limits.
func waysPast(t *testing.T, name, source, at string, service *backend) {
	key := name + "'s"
	for _, first := range []http.Header{{"Host": {"api.example.com"}}, {"X-Api-Key": {key}}} {
		path := map[bool]string{true: "/any", false: "/keys/1"}[first.Get("Host") != ""]
		if res, body := request(t, source, "GET", at+path, "", first); res.StatusCode != 200 || body != "GET "+path+" " {
			t.Fatalf("%s with %v: %d %s", path, first, res.StatusCode, body)
		}
	}
	before := service.served.Load()
	for _, tt := range []struct {
		id, path string
		head     http.Header
		status   int
	}{
		{"an encoded letter", "/%70ages/1", nil, 429},
		{"two slashes", "//pages/1", nil, 429},
		{"a dot", "/./pages/1", nil, 429},
		{"two dots", "/free/../pages/1", nil, 429},
		{"encoded dots", "/free/%2e%2e/pages/1", nil, 429},
		{"a gateway's fields as those of the hop", "/pages/1", http.Header{"Connection": {"X-Forwarded-For, X-Forwarded-Uri"}}, 429},
		{"names with underscores", "/pages/1", http.Header{"X_Forwarded_For": {"9.9.9.9"}, "X_Forwarded_Uri": {"/free"}}, 429},
		{"a query for the node", "/pages/1?policy=keys&deny=200&cost=0", nil, 429},
		{"a host in capitals", "/any", http.Header{"Host": {"API.example.COM"}}, 429},
		{"a host with a port", "/any", http.Header{"Host": {"api.example.com:1234"}}, 429},
		{"a second key", "/keys/1", http.Header{"X-Api-Key": {key, "another"}}, 429},
		{"a second key before", "/keys/1", http.Header{"X-Api-Key": {"another", key}}, 429},
		{"no key", "/keys/1", nil, 429},
		{"a key that is too long", "/keys/1", http.Header{"X-Api-Key": {strings.Repeat("k", 5000)}}, 400},
	} {
		res, body := request(t, source, "GET", at+tt.path, "", tt.head)
		if tt.status == 429 {
			denied(t, tt.id, res, body)
		} else if res.StatusCode != tt.status {
			t.Errorf("%s: %d %q, want %d", tt.id, res.StatusCode, body, tt.status)
		}
	}
	if n := service.served.Load() - before; n != 0 {
		t.Errorf("the service was asked %d times more", n)
	}
}

// denied wants an answer to be a denial, and to say so in its body.
func denied(t *testing.T, what string, res *http.Response, body string) {
	t.Helper()
	kind := res.Header.Get("Content-Type")
	if res.StatusCode != 429 || kind != "application/problem+json" || !strings.Contains(body, "quota-exceeded") {
		t.Errorf("%s: %d %v %q, want 429 with a problem", what, res.StatusCode, res.Header, body)
	}
}

func isSeconds(text string, most int) bool {
	var n int
	_, err := fmt.Sscanf(text, "%d", &n)
	return err == nil && n >= 1 && n <= most
}

// TestGatewaysAlone: before a node that is gone, or says nothing, requests go on, and soon.
func TestGatewaysAlone(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	eachGateway(t, func(t *testing.T, name string, g gateway) {
		if g.refuses {
			t.Skip("it has no setting for that")
		}
		for what, node := range map[string]string{"silent": silent.Addr().String(), "gone": freeAddress(t)} {
			service := newBackend(t)
			at := g.run(t, name, node, service.addr)
			best := time.Hour
			for range 3 {
				begun := time.Now()
				if res, body := request(t, "127.0.0.1", "GET", at+"/a", "", nil); res.StatusCode != 200 || body != "GET /a " {
					t.Errorf("a node that is %s: %d %q, want the request to go on", what, res.StatusCode, body)
				}
				best = min(best, time.Since(begun))
			}
			if t.Logf("a node that is %s: a request took %v", what, best.Round(time.Millisecond)); best > time.Second {
				t.Errorf("a node that is %s: each of three requests took %v or more, want about 0.1 s", what, best)
			}
		}
	})
}

// run starts the gateway with its example before a node and a service, and returns its URL. In the example each old is replaced by its
// new as well.
func (g gateway) run(t *testing.T, name, node, service string, oldnew ...string) string {
	t.Helper()
	dir, at := t.TempDir(), freeAddress(t)
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	// The name of a socket, like an address, is there once on a machine.
	oldnew = append(oldnew, "127.0.0.1:7080", node, "127.0.0.1:9000", service, "127.0.0.1:8080", at, "abns@drossel", "abns@drossel-"+at,
		"http://:8080", "http://:"+port, "bind 127.0.0.1\n", "bind "+host+"\n")
	for _, f := range g.files {
		text, err := os.ReadFile(filepath.Join("..", "gateways", f))
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.NewReplacer(oldnew...).Replace(string(text)))
		if err := os.WriteFile(filepath.Join(dir, f), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(dir, 0o755)
	var log output
	cmd := exec.Command(g.program, g.args(filepath.Join(dir, g.files[0]), dir, at)...)
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

// request sends a request from an address of loopback, as it is written.
func request(t *testing.T, source, method, url, content string, h http.Header) (*http.Response, string) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if h != nil {
		req.Header, req.Host = h, h.Get("Host")
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
