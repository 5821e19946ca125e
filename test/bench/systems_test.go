package bench

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protowire"
)

// nodes is how many daemons each system has.
const nodes = 3

// startDrossel starts daemons that know the policies, and connects callers to them.
func startDrossel(tb testing.TB, callers int, policies string) *cluster {
	tb.Helper()
	program := build(tb, "../..", "./cmd/drossel")
	file := filepath.Join(tb.TempDir(), "policies.yaml")
	if err := os.WriteFile(file, []byte(policies), 0o600); err != nil {
		tb.Fatal(err)
	}
	addrs := freeAddrs(tb, 4*nodes)
	gossip, peers, doors, web := addrs[:nodes], addrs[nodes:2*nodes], addrs[2*nodes:3*nodes], addrs[3*nodes:]
	c := new(cluster)
	for i := range nodes {
		c.daemons = append(c.daemons, start(tb, program, nil, "serve", "--name", fmt.Sprint("n", i+1), "--gossip", gossip[i], "--peer", peers[i],
			"--grpc", doors[i], "--http", web[i], "--policy", file, "--join", gossip[0], "--expect", fmt.Sprint(nodes), "--deadline", "1s"))
	}
	waitFor(tb, "each node to have its part of the keys", func() bool {
		for _, addr := range web {
			var ring struct {
				Members []any
				Here    struct{ Open int }
			}
			if err := getJSON("http://"+addr+"/v1/ring", &ring); err != nil || len(ring.Members) != nodes || ring.Here.Open < 1021/nodes/2 {
				return false
			}
		}
		return true
	})
	c.connect(tb, doors, callers)
	return c
}

func getJSON(url string, into any) error {
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(into)
}

// startGubernator starts daemons of Gubernator with its defaults, and connects callers to them. They find each other by etcd, which is not
// counted, for by gossip several on one machine don't.
func startGubernator(tb testing.TB, callers int) *cluster {
	tb.Helper()
	wantOthers(tb)
	program := build(tb, "gubernator", "github.com/gubernator-io/gubernator/v2/cmd/gubernator")
	addrs := freeAddrs(tb, 2*nodes+2)
	web, doors, etcd := addrs[:nodes], addrs[nodes:2*nodes], addrs[2*nodes:]
	start(tb, "etcd", nil, "--data-dir", tb.TempDir(), "--log-level", "error", "--listen-client-urls", "http://"+etcd[0],
		"--advertise-client-urls", "http://"+etcd[0], "--listen-peer-urls", "http://"+etcd[1])
	dial(tb, etcd[0])
	c := new(cluster)
	for i := range nodes {
		c.daemons = append(c.daemons, start(tb, program, []string{
			"GUBER_GRPC_ADDRESS=" + doors[i], "GUBER_ADVERTISE_ADDRESS=" + doors[i], "GUBER_HTTP_ADDRESS=" + web[i],
			"GUBER_PEER_DISCOVERY_TYPE=etcd", "GUBER_ETCD_ENDPOINTS=" + etcd[0],
			"GUBER_LOG_LEVEL=error", "OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none",
		}))
	}
	c.connect(tb, doors, callers)
	waitFor(tb, "the nodes of Gubernator to find each other", func() bool {
		for i := range nodes {
			peers := uint64(0)
			out, err := invoke(tb.Context(), c.conns[i], "/pb.gubernator.V1/HealthCheck", nil)
			if err != nil || eachField(out, func(field protowire.Number, n uint64, _ []byte) error {
				if field == 3 {
					peers = n
				}
				return nil
			}) != nil || peers != nodes {
				return false
			}
		}
		return true
	})
	return c
}

// startRatelimit starts one daemon of envoyproxy/ratelimit with its Redis, and connects callers to it.
func startRatelimit(tb testing.TB, callers int, config string) *cluster {
	tb.Helper()
	wantOthers(tb)
	program := build(tb, "ratelimit", "github.com/envoyproxy/ratelimit/src/service_cmd")
	redis, addr := startRedisAt(tb)
	root := tb.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "ratelimit", "config"), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "ratelimit", "config", "config.yaml"), []byte(config), 0o600); err != nil {
		tb.Fatal(err)
	}
	addrs := freeAddrs(tb, 3)
	port := func(addr string) string { _, p, _ := net.SplitHostPort(addr); return p }
	c := new(cluster)
	c.daemons = append(c.daemons, redis, start(tb, program, []string{
		"HOST=127.0.0.1", "GRPC_HOST=127.0.0.1", "DEBUG_HOST=127.0.0.1", "PORT=" + port(addrs[0]), "GRPC_PORT=" + port(addrs[1]),
		"DEBUG_PORT=" + port(addrs[2]), "USE_STATSD=false", "LOG_LEVEL=error", "REDIS_SOCKET_TYPE=tcp", "REDIS_URL=" + addr,
		"RUNTIME_ROOT=" + root, "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_WATCH_ROOT=false",
	}))
	c.connect(tb, addrs[1:2], callers)
	return c
}

// pingVariable, if set, makes this binary a server of gRPC that does nothing but answer.
const pingVariable = "DROSSEL_BENCH_PING"

func servePing(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	return s.Serve(l)
}

// startPing starts servers that do nothing, and connects callers to them.
func startPing(tb testing.TB, callers int) *cluster {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	addrs := freeAddrs(tb, nodes)
	c := new(cluster)
	for _, addr := range addrs {
		c.daemons = append(c.daemons, start(tb, self, []string{pingVariable + "=" + addr}))
	}
	c.connect(tb, addrs, callers)
	return c
}
