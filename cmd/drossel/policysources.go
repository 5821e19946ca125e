package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/source"
	"github.com/drossel-dev/drossel/node/source/consul"
	"github.com/drossel-dev/drossel/node/source/etcd"
	"github.com/drossel-dev/drossel/node/source/file"
)

// policySources say where a node's own policies come from: one of them, or none.
type policySources struct {
	file string

	etcdKey                     string
	etcdEndpoints               []string
	etcdUser, etcdPasswordFile  string
	consulKey, consulAddress    string
	consulTokenFile, datacenter string

	kind   node.SourceKind
	source source.Source // nil if there is none
}

func (p *policySources) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&p.file, "policy", "", "YAML `FILE` with the policies, watched: a change applies to this node at once")
	flags.StringVar(&p.etcdKey, "policy-etcd", "", "`KEY` of etcd with the policies, watched")
	flags.StringSliceVar(&p.etcdEndpoints, "etcd", []string{"127.0.0.1:2379"}, "`ENDPOINTS` of etcd, each HOST:PORT or https://HOST:PORT")
	flags.StringVar(&p.etcdUser, "etcd-user", "", "`NAME` of a user of etcd who may read the key")
	flags.StringVar(&p.etcdPasswordFile, "etcd-password-file", "", "`FILE` with that user's password")
	flags.StringVar(&p.consulKey, "policy-consul", "", "`KEY` of Consul with the policies, watched")
	flags.StringVar(&p.consulAddress, "consul", "http://127.0.0.1:8500", "`URL` of a Consul agent or server")
	flags.StringVar(&p.consulTokenFile, "consul-token-file", "", "`FILE` with an ACL token that may read the key")
	flags.StringVar(&p.datacenter, "consul-datacenter", "", "`NAME` of the datacenter whose key it is (default: the agent's)")
}

// prepare checks what is asked for, and reads a file, whose policies the node begins with.
func (p *policySources) prepare(cfg *node.Config) (err error) {
	given := 0
	for _, text := range []string{p.file, p.etcdKey, p.consulKey} {
		if text != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return errors.New("--policy, --policy-etcd and --policy-consul: want one of them")
	case p.file != "":
		if cfg.Policies, err = readPolicies(p.file); err != nil {
			return err
		}
		cfg.PolicySource = node.Source{Kind: node.SourceFile, Name: p.file, Revision: changed(p.file)}
		p.kind = node.SourceFile
		p.source, err = file.New(file.Config{Path: p.file})
	case p.etcdKey != "":
		c := etcd.Config{Endpoints: p.etcdEndpoints, Key: p.etcdKey, Username: p.etcdUser}
		if c.Password, err = readLine(p.etcdPasswordFile); err != nil {
			return fmt.Errorf("--etcd-password-file: %w", err)
		}
		p.kind = node.SourceShared
		p.source, err = etcd.New(c)
	case p.consulKey != "":
		c := consul.Config{Address: p.consulAddress, Key: p.consulKey, Datacenter: p.datacenter}
		if c.Token, err = readLine(p.consulTokenFile); err != nil {
			return fmt.Errorf("--consul-token-file: %w", err)
		}
		p.kind = node.SourceShared
		p.source, err = consul.New(c)
	}
	return err
}

// changed returns when a file was changed, as its revision; 0 if that can't be seen.
func changed(name string) uint64 {
	f, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return uint64(max(f.ModTime().UnixMilli(), 0))
}

// readLine reads a secret of one line; without a name there is none.
func readLine(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", unknown(err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// firstPatience is how long a node waits for the first policies of a key before it starts without any.
const firstPatience = 10 * time.Second

// watch has the node follow its source until ctx ends, and returns what waits for that. Policies of a key are waited for first.
func (p *policySources) watch(ctx context.Context, n *node.Node, log *slog.Logger) (wait func()) {
	if p.source == nil {
		return func() {}
	}
	w := &watcher{node: n, kind: p.kind, log: log, first: make(chan struct{})}
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := p.source.Watch(ctx, w.found, w.failed); err != nil {
			log.Error("policies are not watched any more", "error", err)
		}
	})
	if p.kind == node.SourceShared {
		patience := time.NewTimer(firstPatience)
		defer patience.Stop()
		select {
		case <-w.first:
		case <-ctx.Done():
		case <-patience.C:
			log.Error("no policies were found in time: the node starts without, and goes on looking")
		}
	}
	return watching.Wait
}

// watcher brings what a source has to a node. Its methods are called one at a time.
type watcher struct {
	node  *node.Node
	kind  node.SourceKind
	log   *slog.Logger
	wrong error // with the last text
	once  sync.Once
	first chan struct{} // closed when something was found
}

func (w *watcher) found(f source.Found) {
	set, err := policy.Parse(f.Name, f.Text)
	if err == nil {
		err = w.node.SetPolicies(set, node.Source{Kind: w.kind, Name: f.Name, Revision: f.Revision})
	}
	if w.wrong = err; err != nil {
		w.node.PoliciesFailed(err)
		w.log.Error("the policies are wrong, and stay as they were", "source", f.Name, "error", err)
		return
	}
	w.log.Info("policies found", "source", f.Name, "revision", f.Revision, "policies", set.Len())
	w.once.Do(func() { close(w.first) })
}

func (w *watcher) failed(err error) {
	if err == nil { // what was there before is there again
		w.node.PoliciesFailed(w.wrong)
		return
	}
	w.node.PoliciesFailed(err)
	w.log.Warn("the policies can't be read, and stay as they are", "error", err)
}
