package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// answer is a decision, or an error, of the JSON API.
type answer struct {
	Allowed    bool   `json:"allowed"`
	Never      bool   `json:"never"`
	Degraded   bool   `json:"degraded"`
	Limit      int64  `json:"limit"`
	Remaining  int64  `json:"remaining"`
	RetryAfter string `json:"retry_after"`
	LimitName  string `json:"limit_name"`
	DecidedBy  string `json:"decided_by"`
	Node       string `json:"node"`
	Error      *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// object is JSON to be sent.
type object map[string]any

// ask is a check by the policy api.
func ask(key string) object { return object{"policy": "api", "key": key} }

// look is a check that takes nothing.
func look(key string) object { return object{"policy": "api", "key": key, "cost": 0} }

// web is an HTTP client with connections of its own.
type web struct{ http.Client }

func newWeb(t *testing.T) *web {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return &web{http.Client{Transport: transport}}
}

// send sends a request, and returns the status and the body.
func (w *web) send(ctx context.Context, method, url string, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	res, err := w.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, text, err
}

// post sends JSON and reads JSON into out.
func (w *web) post(ctx context.Context, url string, in, out any) (status int, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	status, text, err := w.send(ctx, http.MethodPost, url, body)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return status, fmt.Errorf("status %d and %.200q: %w", status, text, err)
	}
	return status, nil
}

// check asks a daemon, which must decide.
func (w *web) check(t *testing.T, d *daemon, in object) answer {
	t.Helper()
	var a answer
	status, err := w.post(t.Context(), "http://"+d.http+"/v1/check", in, &a)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s answers a check with %d, %+v, %v", d.name, status, a.Error, err)
	}
	return a
}

// get returns status and body of a path.
func (w *web) get(t *testing.T, d *daemon, path string) (int, string) {
	t.Helper()
	status, text, err := w.send(t.Context(), http.MethodGet, "http://"+d.http+path, nil)
	if err != nil {
		t.Fatalf("%s%s: %v", d.name, path, err)
	}
	return status, string(text)
}

// metrics returns what /metrics shows of a daemon: values by name with labels, as they are written.
func (w *web) metrics(t *testing.T, d *daemon) map[string]float64 {
	t.Helper()
	status, text := w.get(t, d, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("%s/metrics: status %d: %.200s", d.name, status, text)
	}
	values := make(map[string]float64)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil || i < 0 {
			t.Fatalf("%s/metrics has the line %q", d.name, line)
		}
		values[line[:i]] = value
	}
	return values
}

// dial connects to the gRPC API of a daemon.
func dial(t *testing.T, d *daemon) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(d.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
