package e2e

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// TestCheckCommand asks one node by drossel check: what it says, and its exit codes 0 allowed, 1 denied or invalid, 2
// could not tell.
func TestCheckCommand(t *testing.T) {
	d := start(t, "--name", "n1", "--policy", file(t, "limits.yaml", policies))
	tests := []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"allowed", []string{"api", "ann"}, 0, []string{"allowed: 9 of 10 left by limit api", "decided by owner at n1"}},
		{"cost", []string{"api", "ann", "--cost", "8"}, 0, []string{"allowed: 1 of 10 left"}},
		{"look", []string{"api", "ann", "--cost", "0"}, 0, []string{"allowed: 1 of 10 left"}},
		{"look again", []string{"api", "ann", "--cost", "0"}, 0, []string{"allowed: 1 of 10 left"}},
		// Almost 360 s are to wait, and the test takes some.
		{"denied", []string{"api", "ann", "--cost", "2"}, 1, []string{"denied: 1 of 10 left", "retry after 3"}},
		{"never", []string{"api", "ann", "--cost", "11"}, 1, []string{"denied: 1 of 10 left", "no wait can help"}},
		{"a denial takes nothing", []string{"api", "ann"}, 0, []string{"allowed: 0 of 10 left"}},
		{"a look at nothing", []string{"api", "ann", "--cost", "0"}, 1, []string{"denied: 0 of 10 left", "retry after 3"}},
		{"negative cost", []string{"api", "ann", "--cost", "-1"}, 1, []string{"drossel: ", "cost is -1"}},
		{"key by attribute", []string{"api", "--attr", "user=bob"}, 0, []string{"allowed: 9 of 10 left"}},
		{"the same key", []string{"api", "bob"}, 0, []string{"allowed: 8 of 10 left"}},
		{"attributes", []string{"llm", "--attr", "tenant=acme", "--attr", "model=large", "--cost", "800"}, 0,
			[]string{"allowed: 200 of 1000 left by limit tokens"}},
		{"other attributes", []string{"llm", "--attr", "tenant=acme", "--attr", "model=small", "--cost", "800"}, 0,
			[]string{"allowed: 200 of 1000 left"}},
		{"attribute missing", []string{"llm", "--attr", "tenant=acme"}, 1, []string{`attribute "model" is absent`}},
		{"attribute without value", []string{"llm", "--attr", "tenant"}, 1, []string{`--attr is "tenant", want name=value`}},
		{"near miss", []string{"apo", "ann"}, 1, []string{`unknown policy "apo"`, `did you mean "api"?`}},
		{"own limit", []string{"jobs", "nightly", "--limit", "10/min", "--burst", "5"}, 0,
			[]string{"allowed: 4 of 5 left by limit inline"}},
		{"own limit without burst", []string{"jobs", "daily", "--limit", "7/h"}, 0, []string{"allowed: 6 of 7 left"}},
		{"own limit of a policy", []string{"api", "ann", "--limit", "3/h"}, 0, []string{"allowed: 2 of 3 left"}},
		{"own limit without refill", []string{"jobs", "once", "--limit", "0/h", "--burst", "0"}, 1,
			[]string{"no wait can help"}},
		{"rate", []string{"jobs", "x", "--limit", "10/minuts"}, 1,
			[]string{`unknown unit "minuts"`, "want ns, us, ms, s, min"}},
		{"burst", []string{"jobs", "x", "--limit", "10/min", "--burst", "1.5"}, 1,
			[]string{"--burst", "want a whole number"}},
		{"burst alone", []string{"api", "ann", "--burst", "5"}, 1, []string{"--burst needs --limit"}},
		{"largest key", []string{"api", strings.Repeat("k", 4096)}, 0, []string{"allowed: 9 of 10 left"}},
		{"key too large", []string{"api", strings.Repeat("k", 4097)}, 1, []string{"key of 4097 bytes, want at most 4096"}},
		{"no arguments", nil, 1, []string{"name a POLICY"}},
		{"unknown flag", []string{"api", "ann", "--colour"}, 1, []string{"unknown flag: --colour"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run(t, append([]string{"check", "--addr", d.http}, tt.args...)...).wants(t, tt.code, tt.says...)
		})
	}
	t.Run("JSON", func(t *testing.T) {
		r := run(t, "check", "--addr", d.http, "api", "jane", "--cost", "3", "--json")
		var got answer
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != 0 {
			t.Fatalf("code %d, %v: %s%s", r.code, err, r.stdout, r.stderr)
		}
		want := answer{Allowed: true, Limit: 10, Remaining: 7, LimitName: "api", DecidedBy: "owner", Node: "n1"}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
	t.Run("no node", func(t *testing.T) {
		d.kill(t)
		run(t, "check", "--addr", d.http, "api", "ann").wants(t, 2,
			"no node answers at "+d.http, "--addr is the --http address")
		run(t, "members", "--addr", d.http).wants(t, 2, "no node answers at "+d.http)
	})
}

// TestAnyBytes gives a key that is no text by each way there is: it is one bucket.
func TestAnyBytes(t *testing.T) {
	d := start(t, "--policy", file(t, "limits.yaml", policies))
	client, api := newWeb(t), drosselv1.NewRateLimiterClient(dial(t, d))
	const key = "\xff\xfe\x01"
	byRPC, err := api.Check(t.Context(), &drosselv1.CheckRequest{Policy: "api", Key: []byte(key), Cost: proto.Int64(4)})
	if err != nil || byRPC.GetRemaining() != 6 {
		t.Errorf("by gRPC: %v, %v, want 6 remaining", byRPC, err)
	}
	byHTTP := client.check(t, d, object{"policy": "api", "key_base64": base64.StdEncoding.EncodeToString([]byte(key))})
	if byHTTP.Remaining != 5 {
		t.Errorf("by HTTP, after gRPC has taken 4: %+v, want 5 remaining", byHTTP)
	}
	// Neither that key nor what a decoder would put in its place is touched by the other.
	if a := client.check(t, d, ask("\ufffd\ufffd\x01")); a.Remaining != 9 {
		t.Errorf("a key of replacement characters: %+v, want 9 remaining", a)
	}
	run(t, "check", "--addr", d.http, "api", key).wants(t, 0, "allowed: 4 of 10 left")
}

// TestRefusals asks what no node may answer with a decision, over both doors.
func TestRefusals(t *testing.T) {
	d := start(t, "--policy", file(t, "limits.yaml", policies))
	client, api := newWeb(t), drosselv1.NewRateLimiterClient(dial(t, d))
	long := strings.Repeat("k", 4097)
	tests := []struct {
		name   string
		json   object
		proto  *drosselv1.CheckRequest
		status int
		code   codes.Code
		says   string
	}{
		{"cost", object{"policy": "api", "key": "k", "cost": -1},
			&drosselv1.CheckRequest{Policy: "api", Key: []byte("k"), Cost: proto.Int64(-1)},
			http.StatusBadRequest, codes.InvalidArgument, "cost is -1"},
		{"key", ask(long), &drosselv1.CheckRequest{Policy: "api", Key: []byte(long)},
			http.StatusBadRequest, codes.InvalidArgument, "key of 4097 bytes, want at most 4096"},
		{"no key", object{"policy": "api"}, &drosselv1.CheckRequest{Policy: "api"},
			http.StatusBadRequest, codes.InvalidArgument, `attribute "user" is absent`},
		{"policy", object{"policy": "apis", "key": "k"}, &drosselv1.CheckRequest{Policy: "apis", Key: []byte("k")},
			http.StatusNotFound, codes.NotFound, `did you mean "api"?`},
	}
	for _, tt := range tests {
		var a answer
		code, err := client.post(t.Context(), "http://"+d.http+"/v1/check", tt.json, &a)
		if err != nil || code != tt.status || a.Error == nil || !strings.Contains(a.Error.Message, tt.says) {
			t.Errorf("%s over HTTP: %d, %+v, %v; want %d and %q", tt.name, code, a.Error, err, tt.status, tt.says)
		}
		_, err = api.Check(t.Context(), tt.proto)
		if status.Code(err) != tt.code || !strings.Contains(status.Convert(err).Message(), tt.says) {
			t.Errorf("%s over gRPC: %v; want %v and %q", tt.name, err, tt.code, tt.says)
		}
	}
	var a answer
	code, err := client.post(t.Context(), "http://"+d.http+"/v1/check", object{"policy": "api", "kye": "k"}, &a)
	if err != nil || code != http.StatusBadRequest || !strings.Contains(a.Error.Message, `did you mean "key"?`) {
		t.Errorf("an unknown field: %d, %+v, %v", code, a.Error, err)
	}
	if a := client.check(t, d, ask("k")); a.Remaining != 9 {
		t.Errorf("after refusals alone: %+v, want 9 remaining", a)
	}
}
