package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/store"
	"github.com/drossel-dev/drossel/node/strict"
	"github.com/drossel-dev/drossel/transport/door"
)

// serveFlags are what serve is told.
type serveFlags struct {
	node       node.Config
	secretFile string
	policies   policySources
	dataDir    string
	redis      []string
	redisCA    string
	grpc, http string
	logLevel   string
	logJSON    bool

	drainTimeout time.Duration
	doors        []string
	headers      []string
	envoyHeaders []string
	auth         authFlags
	authenticate door.Authenticate // whom to let in, at all doors; nil is everybody
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node of a cluster",
		Long: `Serve runs one node. With no flags it is alone on loopback; with --join it finds
the others, and they share the keys.

Three nodes on one machine, each in a terminal of its own:

  drossel serve --name n1 --gossip 127.0.0.1:7946 --grpc 127.0.0.1:7070 --http 127.0.0.1:7080 --policy limits.yaml
  drossel serve --name n2 --gossip 127.0.0.2:7946 --grpc 127.0.0.2:7070 --http 127.0.0.2:7080 --join 127.0.0.1:7946 --policy limits.yaml
  drossel serve --name n3 --gossip 127.0.0.3:7946 --grpc 127.0.0.3:7070 --http 127.0.0.3:7080 --join 127.0.0.1:7946 --policy limits.yaml

Between machines all nodes need one secret: head -c 32 /dev/urandom > secret, and
--secret-file secret on each. Policies are applied at any node (drossel policy
apply), or come from a file (--policy) or a key of etcd or Consul, which are
watched.

When it is ready it prints its addresses, a line each. SIGTERM makes it leave: it
gives back what it was lent, hands its keys over to the others, and answers what
comes until they have them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.node.Name, "name", "", "stable `ID` of the node, different for each (default: that of --data-dir, else \"HOSTNAME:GOSSIP-PORT\", on loopback \"IP:GOSSIP-PORT\")")
	flags.StringVar(&f.node.Label, "label", "drossel", "`NAME` of the cluster; others are refused")
	flags.StringVar(&f.node.Gossip, "gossip", "127.0.0.1:7946", "`IP:PORT` for membership, TCP and UDP")
	flags.StringVar(&f.node.GossipAdvertise, "gossip-advertise", "", "`IP:PORT` at which others reach --gossip (default: its ip, or the source address towards the first seed)")
	flags.StringVar(&f.node.Peer, "peer", "", "`IP:PORT` for checks from other nodes (default: that of --gossip plus 1)")
	flags.StringVar(&f.node.PeerAdvertise, "peer-advertise", "", "`HOST:PORT` at which others reach --peer")
	flags.StringSliceVar(&f.node.Join, "join", nil, "`SEEDS`: gossip addresses of other nodes, or dns:///name:port for all of a name; may contain this node")
	flags.StringVar(&f.grpc, "grpc", "127.0.0.1:7070", "`HOST:PORT` of the gRPC API; empty for none")
	flags.StringVar(&f.http, "http", "127.0.0.1:7080", "`HOST:PORT` of the JSON API, health and metrics; empty for none, that of --grpc to share it")
	flags.StringSliceVar(&f.doors, "doors", doorNames, "`NAMES` of the doors for checks that are open: grpc and auth and so on; what is not named is closed")
	flags.StringSliceVar(&f.headers, "headers", []string{"draft-11", "x-ratelimit"}, "`STYLES` of rate limit header fields that gateways are given: draft-11, draft-07, draft-06, x-ratelimit, github, envoy-draft-03, openai or none")
	flags.StringSliceVar(&f.envoyHeaders, "envoy-headers", []string{"none"}, "`STYLES` of fields that Envoy is told to add to responses, as in --headers; it can add its own (enable_x_ratelimit_headers)")
	f.auth.addTo(flags)
	f.policies.addTo(flags)
	flags.StringVar(&f.dataDir, "data-dir", "", "`DIR` for what has to outlive the node: its name, policies that were applied, limits of single keys, and what was taken of limits with windows of an hour or more. Without it a node takes these from the others. Give it to all nodes, one each")
	flags.StringSliceVar(&f.redis, "redis", nil, "`URLS` of the Redis that decides strict limits: redis://USER:PASSWORD@HOST:PORT, rediss:// for TLS, ?addr=HOST:PORT for more nodes of a cluster, ?master_set=NAME for sentinels; several are independent servers, the same on all nodes")
	flags.StringVar(&f.redisCA, "redis-ca", "", "`FILE` with the authorities, in PEM, that certificates of --redis over TLS are by (default: those of the machine)")
	flags.StringVar(&f.secretFile, "secret-file", "", "`FILE` with the cluster's secret, at least 16 bytes; a trailing newline does not count")
	flags.BoolVar(&f.node.Insecure, "insecure", false, "listen off loopback without a secret")
	flags.IntVar(&f.node.Ring.Partitions, "partitions", 1021, "`NUMBER` of partitions, the same on all nodes for the cluster's whole life")
	flags.Int64Var(&f.node.TableBytes, "table-bytes", 1<<30, "memory bound for buckets, in `BYTES`")
	flags.IntVar(&f.node.Expect, "expect", 0, "`NUMBER` of new nodes that found a cluster as soon as they have met; without it they do after --join-timeout, and a node whose seeds are only itself at once")
	flags.DurationVar(&f.node.JoinTimeout, "join-timeout", 10*time.Second, "how long a node looks for its cluster before it serves as a guest, by failure rules, and goes on looking")
	flags.DurationVar(&f.node.Forget, "forget", time.Minute, "how long a member may be silent before the others drop it from their list")
	flags.DurationVar(&f.drainTimeout, "drain-timeout", 10*time.Second, "how long handing over and finishing what is under way may take after SIGTERM")
	flags.DurationVar(&f.node.Deadline, "deadline", 12*time.Millisecond, "how long a check waits for another node")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.BoolVar(&f.logJSON, "log-json", false, "log as JSON")
	offer(cmd, "log-level", "debug", "info", "warn", "error")
	return cmd
}

// logger writes to stderr, as the flags say.
func (f *serveFlags) logger() (*slog.Logger, error) {
	opt := new(slog.HandlerOptions)
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level is %q, want debug, info, warn or error", f.logLevel)
	}
	opt.Level = level
	if f.logJSON {
		return slog.New(slog.NewJSONHandler(os.Stderr, opt)), nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, opt)), nil
}

// prepare checks all that can be checked before anything is opened, and reports all that is wrong.
func (f *serveFlags) prepare() (err error) {
	f.node.Logger, err = f.logger()
	policyErr := f.policies.prepare(&f.node)
	var secretErr error
	if f.secretFile != "" {
		f.node.Secret, secretErr = readSecret(f.secretFile)
	}
	if secretErr == nil {
		secretErr = f.node.Validate()
	}
	return errors.Join(err, policyErr, secretErr, f.wrongDoors())
}

func readSecret(name string) ([]byte, error) {
	secret, err := os.ReadFile(name)
	if err != nil {
		return nil, unknown(fmt.Errorf("read the secret: %w", err))
	}
	for n := len(secret); n > 0 && (secret[n-1] == '\n' || secret[n-1] == '\r'); n-- {
		secret = secret[:n-1]
	}
	if len(secret) == 0 {
		return nil, fmt.Errorf("the secret file %s is empty: head -c 32 /dev/urandom > %s makes one", name, name)
	}
	return secret, nil
}

// named has the directory of a node keep its name, by which that goes again unless it is given another.
func named(kept *store.Store, n *node.Node, before string, log *slog.Logger) {
	switch before {
	case n.Name():
		return
	case "":
	default:
		log.Warn("the data directory is that of a node with another name, which counts as a member until it is forgotten", "was", before, "is", n.Name())
	}
	if err := kept.KeepName(n.Name()); err != nil {
		log.Error("the name of this node is not on disk: give it --name, or it may have another next time", "error", err)
	}
}

func (f *serveFlags) run(cmd *cobra.Command) error {
	if err := f.prepare(); err != nil {
		return err
	}
	var kept *store.Store
	before := "" // the name of the node of the directory
	if f.dataDir != "" {
		var err error
		kept, err = store.Open(f.dataDir, f.node.Logger)
		if err != nil {
			return unknown(fmt.Errorf("--data-dir: %w", err))
		}
		defer kept.Close() // after the node
		f.node.Store, f.node.Groups = kept, kept
		if before, err = kept.Name(); err != nil {
			return unknown(fmt.Errorf("--data-dir: %w", err))
		}
		f.node.Name = cmp.Or(f.node.Name, before)
	}
	shared, err := f.openRedis()
	if err != nil {
		return err
	}
	if shared != nil {
		defer shared.Close() // after the node
		f.node.Strict = shared
	}
	n, err := node.New(f.node)
	if err != nil {
		return err
	}
	defer n.Close()
	if kept != nil {
		named(kept, n, before, f.node.Logger)
	}
	watching, done := context.WithCancel(cmd.Context())
	defer f.policies.watch(watching, n, f.node.Logger)()
	defer done()
	// Doors are opened before the node, so that a port in use is found before anybody counts on this node, and health can
	// be asked for. Checks are refused until it has started.
	d, err := f.open(n, shared)
	if err != nil {
		return unknown(err)
	}
	defer d.close()
	d.serve()
	if err := n.Start(cmd.Context()); err != nil {
		return unknown(err)
	}
	d.ready()
	out := cmd.OutOrStdout()
	for _, a := range [][2]string{{"gossip", n.GossipAddr()}, {"peer", n.PeerAddr()}, {"grpc", d.grpcAddr}, {"http", d.httpAddr}, {"ready", n.Name()}} {
		if a[1] != "" {
			fmt.Fprintf(out, "%-6s %s\n", a[0], a[1])
		}
	}
	select {
	case <-cmd.Context().Done():
	case err := <-d.failed:
		return unknown(err)
	}
	f.node.Logger.Info("leaving")
	d.unready()
	ctx, cancel := context.WithTimeout(context.Background(), f.drainTimeout)
	defer cancel()
	if err := n.Leave(ctx); err != nil {
		f.node.Logger.Warn("left without having handed over everything", "error", err)
	}
	d.drain(ctx)
	return nil
}

// openRedis returns the client of the Redis that decides strict limits, nil if there is none.
func (f *serveFlags) openRedis() (*strict.Client, error) {
	if len(f.redis) == 0 {
		return nil, nil
	}
	cfg := strict.Config{URLs: f.redis, Logger: f.node.Logger}
	if f.redisCA != "" {
		text, err := os.ReadFile(f.redisCA)
		if err != nil {
			return nil, unknown(fmt.Errorf("--redis-ca: %w", err))
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--redis-ca: %s has no certificate in PEM", f.redisCA)
		}
	}
	c, err := strict.Open(cfg)
	if err != nil {
		return nil, fmt.Errorf("--redis: %w", err)
	}
	return c, nil
}
