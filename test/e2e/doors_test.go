package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// TestOneListener: gRPC and HTTP share an address, and each check is counted at its door.
func TestOneListener(t *testing.T) {
	addr := freeAddress(t)
	d := start(t, "--name", "n1", "--grpc", addr, "--http", addr, "--policy", file(t, "limits.yaml", policies))
	if d.grpc != addr || d.http != addr {
		t.Fatalf("gRPC at %s and HTTP at %s, want %s", d.grpc, d.http, addr)
	}
	client := newWeb(t)
	if a := client.check(t, d, ask("ann")); !a.Allowed {
		t.Errorf("JSON: %+v", a)
	}
	rpc := drosselv1.NewRateLimiterClient(dial(t, d))
	for range 3 {
		if _, err := rpc.Check(t.Context(), &drosselv1.CheckRequest{Policy: "api", Key: []byte("ann")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rpc.Check(t.Context(), &drosselv1.CheckRequest{Policy: "nobody's"}); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown policy: %v", err)
	}
	if res := authorize(t, d, "/api", nil); res.StatusCode != http.StatusBadRequest { // api's key is not among what gateways say
		t.Errorf("/v1/auth: %d", res.StatusCode)
	}
	counts := client.metrics(t, d)
	for name, want := range map[string]float64{
		`drossel_door_checks_total{door="http",verdict="allowed"}`: 1, `drossel_door_checks_total{door="grpc",verdict="allowed"}`: 3,
		`drossel_door_checks_total{door="grpc",verdict="failed"}`: 1, `drossel_door_checks_total{door="auth",verdict="failed"}`: 1,
	} {
		if counts[name] != want {
			t.Errorf("%s is %v, want %v", name, counts[name], want)
		}
	}
	if code, _ := d.terminate(t); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// TestDoorsOff: a door that is not named is closed, and the rest goes on.
func TestDoorsOff(t *testing.T) {
	d := start(t, "--name", "n1", "--doors", "auth", "--auth-attribute", "user=X-User", "--policy", file(t, "limits.yaml", policies))
	client := newWeb(t)
	if code, err := client.post(t.Context(), "http://"+d.http+"/v1/check", ask("ann"), new(any)); code != http.StatusNotFound {
		t.Errorf("JSON: %d %v, want 404", code, err)
	}
	_, err := drosselv1.NewRateLimiterClient(dial(t, d)).Check(t.Context(), &drosselv1.CheckRequest{Policy: "api", Key: []byte("ann")})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("gRPC: %v, want UNIMPLEMENTED", err)
	}
	for i := range 11 {
		res := authorize(t, d, "/api", http.Header{"X-User": {"ann"}})
		if want := map[bool]int{true: 200, false: 429}[i < 10]; res.StatusCode != want {
			t.Errorf("/v1/auth, request %d: %d, want %d", i, res.StatusCode, want)
		}
	}
	if code, _ := client.get(t, d, "/readyz"); code != http.StatusOK {
		t.Errorf("readiness: %d", code)
	}
}

func authorize(t *testing.T, d *daemon, path string, h http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+d.http+"/v1/auth"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = h
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res
}

// TestSlowClients: clients that begin and go no further are cut off in their time, whichever door they come to, and meanwhile everybody
// else is served. Afterwards nothing of them is left.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	addr := freeAddress(t)
	shared := start(t, "--grpc", addr, "--http", addr, "--policy", file(t, "limits.yaml", policies))
	apart := start(t, "--label", t.Name()+"2", "--policy", file(t, "limits.yaml", policies))
	client := newWeb(t)
	const each = 50
	begun := map[string]string{
		"says nothing":       "",
		"half a request":     "POST /v1/check HTTP/1.1\r\nHost: x\r\nX-Part: ",
		"half a body":        "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{",
		"an endless chunk":   "POST /v1/check_batch HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"che\r\n",
		"half a preface":     "PRI * HT",
		"no settings":        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"a gateway's upload": "POST /v1/auth/api HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{",
	}
	before := map[*daemon]float64{}
	var conns []net.Conn
	for _, d := range []*daemon{shared, apart} {
		before[d] = client.metrics(t, d)["go_goroutines"]
		for _, door := range []string{d.grpc, d.http} {
			for what, text := range begun {
				for range each {
					c, err := net.Dial("tcp", door)
					if err != nil {
						t.Fatal(what, err)
					}
					defer c.Close()
					if _, err := io.WriteString(c, text); err != nil {
						t.Fatal(what, err)
					}
					conns = append(conns, c)
				}
			}
		}
	}
	for _, d := range []*daemon{shared, apart} {
		if a := client.check(t, d, look("ann")); !a.Allowed {
			t.Errorf("meanwhile: %+v", a)
		}
	}
	start := time.Now()
	for _, c := range conns {
		c.SetReadDeadline(start.Add(4 * slowest))
		if _, err := io.Copy(io.Discard, bufio.NewReader(c)); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Fatalf("a connection is open after %v", time.Since(start))
		}
	}
	t.Logf("%d slow connections were closed after %v at the latest; stated are %v", len(conns), time.Since(start).Round(time.Millisecond), slowest)
	for d, n := range before {
		waitFor(t, "what served slow clients to end", func() bool { return client.metrics(t, d)["go_goroutines"] <= n+20 })
	}
}

// slowest is how long a client may take that does not finish: the time for a request of HTTP, beyond that for its headers.
const slowest = 15 * time.Second

// TestOversized: what is too large is refused, with the limit, and is not kept.
func TestOversized(t *testing.T) {
	d := start(t, "--policy", file(t, "limits.yaml", policies))
	for path, most := range map[string]int{"/v1/check": 64 << 10, "/v1/check_batch": 1 << 20} {
		res, err := http.Post("http://"+d.http+path, "application/json", bytes.NewReader(make([]byte, most+1)))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), fmt.Sprint(most)) {
			t.Errorf("%s: %d %s, want 413 and %d", path, res.StatusCode, text, most)
		}
	}
	res := authorize(t, d, "/api", http.Header{"X-Large": {strings.Repeat("x", 80<<10)}})
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("large headers: %d, want 431", res.StatusCode)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := drosselv1.NewRateLimiterClient(dial(t, d)).Check(ctx, &drosselv1.CheckRequest{Policy: "api", Key: make([]byte, 5<<20)})
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "4194304") {
		t.Errorf("a large message: %.200v, want RESOURCE_EXHAUSTED and 4194304", err)
	}
}
