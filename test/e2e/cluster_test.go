package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

const (
	keyCount = 30
	burst    = 10 // of the policy api, which gives back none within a test
	attempts = 12 // for each key
)

// patient makes a daemon wait for others whatever else the machine does, so that no check is decided by rule for that.
var patient = []string{"--deadline", "20s"}

// tally is what keys got.
type tally struct {
	admitted map[string]int
	deciders map[string]bool
	degraded int
}

func newTally() *tally {
	return &tally{admitted: make(map[string]int), deciders: make(map[string]bool)}
}

func (c *tally) add(key string, allowed, degraded bool, node string) {
	if allowed {
		c.admitted[key]++
	}
	if degraded {
		c.degraded++
	}
	c.deciders[node] = true
}

// exact fails the test unless each key got its burst, and all nodes had a part in it.
func (c *tally) exact(t *testing.T, nodes int) {
	t.Helper()
	if len(c.admitted) != keyCount {
		t.Errorf("%d keys got something, want %d", len(c.admitted), keyCount)
	}
	for key, n := range c.admitted {
		if n != burst {
			t.Errorf("key %s: %d of %d admitted, want exactly %d", key, n, attempts, burst)
		}
	}
	if c.degraded > 0 {
		t.Errorf("%d checks were decided by a failure rule, and nothing failed", c.degraded)
	}
	if len(c.deciders) != nodes {
		t.Errorf("decided by %q, want all %d nodes", slices.Sorted(maps.Keys(c.deciders)), nodes)
	}
}

// each calls f with every key in every round, and with the number of the node that is to be asked: another each time.
func each(prefix string, f func(key string, node int)) {
	for round := range attempts {
		for k := range keyCount {
			f(fmt.Sprint(prefix, k), (round+k)%3)
		}
	}
}

// TestCluster asks three nodes in turn, by every way there is, and each key gets exactly what one node would give it.
func TestCluster(t *testing.T) {
	nodes := cluster(t, 3, append(patient, "--policy", file(t, "limits.yaml", policies))...)
	client := newWeb(t)
	asked := make([]int, len(nodes))
	var apis []drosselv1.RateLimiterClient
	for _, d := range nodes {
		apis = append(apis, drosselv1.NewRateLimiterClient(dial(t, d)))
	}

	t.Run("HTTP", func(t *testing.T) {
		c := newTally()
		each("http-", func(key string, node int) {
			a := client.check(t, nodes[node], ask(key))
			c.add(key, a.Allowed, a.Degraded, a.Node)
			asked[node]++
		})
		c.exact(t, len(nodes))
	})
	t.Run("gRPC", func(t *testing.T) {
		c := newTally()
		each("grpc-", func(key string, node int) {
			d, err := apis[node].Check(t.Context(), &drosselv1.CheckRequest{Policy: "api", Key: []byte(key)})
			if err != nil {
				t.Fatal(err)
			}
			c.add(key, d.GetAllowed(), d.GetDegraded(), d.GetNode())
			asked[node]++
		})
		c.exact(t, len(nodes))
	})
	t.Run("HTTP batch", func(t *testing.T) {
		c := newTally()
		keys := make([][]string, len(nodes))
		checks := make([][]object, len(nodes))
		each("http-batch-", func(key string, node int) {
			keys[node] = append(keys[node], key)
			checks[node] = append(checks[node], ask(key))
			asked[node]++
		})
		for i, d := range nodes {
			var out struct {
				Results []struct{ Decision answer }
			}
			status, err := client.post(t.Context(), "http://"+d.http+"/v1/check_batch", object{"checks": checks[i]}, &out)
			if err != nil || status != http.StatusOK || len(out.Results) != len(checks[i]) {
				t.Fatalf("a batch of %d: status %d, %d results, %v", len(checks[i]), status, len(out.Results), err)
			}
			for j, r := range out.Results {
				c.add(keys[i][j], r.Decision.Allowed, r.Decision.Degraded, r.Decision.Node)
			}
		}
		c.exact(t, len(nodes))
	})
	t.Run("gRPC batch", func(t *testing.T) {
		c := newTally()
		batches := make([]*drosselv1.CheckBatchRequest, len(nodes))
		for i := range batches {
			batches[i] = new(drosselv1.CheckBatchRequest)
		}
		each("grpc-batch-", func(key string, node int) {
			batches[node].Checks = append(batches[node].Checks, &drosselv1.CheckRequest{Policy: "api", Key: []byte(key)})
			asked[node]++
		})
		for i, b := range batches {
			out, err := apis[i].CheckBatch(t.Context(), b)
			if err != nil || len(out.GetResults()) != len(b.Checks) {
				t.Fatalf("a batch of %d: %d results, %v", len(b.Checks), len(out.GetResults()), err)
			}
			for j, r := range out.GetResults() {
				d := r.GetDecision()
				c.add(string(b.Checks[j].GetKey()), d.GetAllowed(), d.GetDegraded(), d.GetNode())
			}
		}
		c.exact(t, len(nodes))
	})
	t.Run("metrics", func(t *testing.T) {
		for i, d := range nodes {
			m := client.metrics(t, d)
			allowed := m[`drossel_checks_total{policy="api",verdict="allowed"}`]
			denied := m[`drossel_checks_total{policy="api",verdict="denied"}`]
			if int(allowed+denied) != asked[i] || allowed == 0 || denied == 0 {
				t.Errorf("%s counts %v allowed and %v denied, and was asked %d times", d.name, allowed, denied, asked[i])
			}
			if f := m[`drossel_checks_forwarded_total{policy="api"}`]; f == 0 || int(f) >= asked[i] {
				t.Errorf("%s forwarded %v of %d", d.name, f, asked[i])
			}
			for name, want := range map[string]float64{
				`drossel_checks_degraded_total{policy="api"}`: 0, "drossel_ring_members": 3, "drossel_links_up": 2,
			} {
				if got, there := m[name]; !there || got != want {
					t.Errorf("%s: %s is %v (there: %v), want %v", d.name, name, got, there, want)
				}
			}
			if m["go_goroutines"] == 0 {
				t.Errorf("%s shows nothing of its process", d.name)
			}
		}
	})
	t.Run("health", func(t *testing.T) { healthy(t, client, nodes) })
}

// healthy checks what load balancers and tools ask for.
func healthy(t *testing.T, client *web, nodes []*daemon) {
	for _, d := range nodes {
		for _, path := range []string{"/livez", "/readyz"} {
			if status, text := client.get(t, d, path); status != http.StatusOK {
				t.Errorf("%s%s: %d %s", d.name, path, status, text)
			}
		}
		conn := dial(t, d)
		for _, service := range []string{"", "drossel.v1.RateLimiter"} {
			health := grpc_health_v1.NewHealthClient(conn)
			r, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
			if err != nil || r.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
				t.Errorf("%s: health of %q is %v, %v", d.name, service, r.GetStatus(), err)
			}
		}
		services := reflected(t, grpc_reflection_v1.NewServerReflectionClient(conn))
		if !slices.Contains(services, "drossel.v1.RateLimiter") {
			t.Errorf("%s: reflection lists %q", d.name, services)
		}
	}
}

// reflected returns the services that a server lists.
func reflected(t *testing.T, client grpc_reflection_v1.ServerReflectionClient) (names []string) {
	t.Helper()
	stream, err := client.ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	return names
}
