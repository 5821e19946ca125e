package strict_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
	"github.com/drossel-dev/drossel/node/strict"
)

// many are servers that listen on TCP ports, of a cluster or with sentinels.
type many struct {
	testing.TB
	host string
	cmds map[int]*exec.Cmd
}

func newMany(t testing.TB) *many {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server: test/run installs it")
	}
	// An address of their own, so that the port that is free is nobody else's the next moment.
	m := &many{TB: t, host: fmt.Sprintf("127.%d.%d.1", 64+rand.IntN(64), rand.IntN(256)), cmds: make(map[int]*exec.Cmd)}
	t.Cleanup(func() {
		for port := range m.cmds {
			m.kill(port)
		}
	})
	return m
}

// free returns a port that is free; of a cluster one needs another that is 10,000 higher.
func (m *many) free() int {
	m.Helper()
	for range 1000 {
		port := 20_000 + rand.IntN(30_000)
		l, err := net.Listen("tcp", net.JoinHostPort(m.host, strconv.Itoa(port)))
		if err == nil {
			l.Close()
			return port
		}
	}
	m.Fatal("no port is free")
	return 0
}

// start starts a server with a configuration, in a directory of its own, and returns its port.
func (m *many) start(config string, args ...string) int {
	m.Helper()
	port := m.free()
	m.startAt(port, m.TempDir(), config, args...)
	return port
}

func (m *many) startAt(port int, dir, config string, args ...string) {
	m.Helper()
	file := dir + "/redis.conf"
	text := fmt.Sprintf("bind %s\nport %d\ndir %s\nprotected-mode no\n%s\n", m.host, port, dir, config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		m.Fatal(err)
	}
	cmd := exec.Command("redis-server", append([]string{file}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	m.cmds[port] = cmd
}

func (m *many) kill(port int) {
	if cmd := m.cmds[port]; cmd != nil {
		cmd.Process.Kill()
		cmd.Wait()
		delete(m.cmds, port)
	}
}

func (m *many) addr(port int) string { return net.JoinHostPort(m.host, strconv.Itoa(port)) }

// admin returns what asks one server.
func (m *many) admin(port int) func(words ...string) string {
	m.Helper()
	var c rueidis.Client
	within(m, "server that answers", func() (ok bool) {
		var err error
		c, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{m.addr(port)}, DisableCache: true, ForceSingleClient: true})
		return err == nil
	})
	m.Cleanup(c.Close)
	return func(words ...string) string {
		m.Helper()
		said, err := c.Do(context.Background(), c.B().Arbitrary(words...).Build()).ToAny()
		if err != nil {
			return "error: " + err.Error()
		}
		return fmt.Sprint(said)
	}
}

const noDisk = "save \"\"\nappendonly no\nrepl-diskless-sync-delay 0\n"

// TestCluster: groups are decided wherever their slots are, also after a slot has moved and when a replica has taken over from its master.
func TestCluster(t *testing.T) {
	m := newMany(t)
	config := noDisk + "cluster-enabled yes\ncluster-node-timeout 1000\ncluster-replica-validity-factor 0\ncluster-announce-ip " + m.host + "\n"
	var ports []int
	var asks []func(words ...string) string
	for range 6 {
		ports = append(ports, m.start(config))
	}
	for _, port := range ports {
		asks = append(asks, m.admin(port))
	}
	for i := range 3 {
		if said := asks[i]("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*16384/3), strconv.Itoa((i+1)*16384/3-1)); said != "OK" {
			t.Fatal(said)
		}
	}
	for i := range asks {
		asks[i]("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		if i > 0 {
			asks[i]("CLUSTER", "MEET", m.host, strconv.Itoa(ports[0]))
		}
	}
	id := func(i int) string { return asks[i]("CLUSTER", "MYID") }
	for i := range 3 {
		within(t, "replica", func() bool { return asks[3+i]("CLUSTER", "REPLICATE", id(i)) == "OK" })
	}
	ready := func(i int) bool {
		text := asks[i]("CLUSTER", "INFO")
		return strings.Contains(text, "cluster_state:ok") && strings.Contains(text, "cluster_known_nodes:6")
	}
	for i := range asks {
		within(t, "cluster", func() bool { return ready(i) })
	}
	c := open(t, fmt.Sprintf("redis://%s?addr=%s&addr=%s", m.addr(ports[0]), m.addr(ports[1]), m.addr(ports[2])))
	const keys = 30
	for key := range uint64(keys) {
		if left := answered(t, c, key, redis.Take, 1).Decision.Remaining; left != 9 {
			t.Errorf("key %d: %d are left", key, left)
		}
	}
	other := asked(77, redis.Take, 3)
	other.Approximate = true
	other.Limits = []bucket.Limit{{Algorithm: bucket.FixedWindow, Count: 10, Per: 24 * time.Hour, Burst: 10, Tag: 1}}
	if _, err := c.Ask(t.Context(), other); err != nil {
		t.Errorf("by a counter: %v", err)
	}
	waits := asked(78, redis.Take, 3)
	waits.Replicas = 1
	within(t, "take that a replica has heard of", func() bool { // they have only just been made
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Ask(ctx, waits)
		return err == nil
	})
	// One slot moves, with what is in it.
	key := asked(3, redis.Look, 0).Key()
	slot := asks[0]("CLUSTER", "KEYSLOT", key)
	n, err := strconv.Atoi(slot)
	if err != nil {
		t.Fatal(slot)
	}
	from := min(n*3/16384, 2)
	to := (from + 1) % 3
	for _, step := range []struct {
		at    int
		words []string
	}{
		{to, []string{"CLUSTER", "SETSLOT", strconv.Itoa(n), "IMPORTING", id(from)}},
		{from, []string{"CLUSTER", "SETSLOT", strconv.Itoa(n), "MIGRATING", id(to)}},
		{from, []string{"MIGRATE", m.host, strconv.Itoa(ports[to]), key, "0", "5000"}},
		{to, []string{"CLUSTER", "SETSLOT", strconv.Itoa(n), "NODE", id(to)}},
		{from, []string{"CLUSTER", "SETSLOT", strconv.Itoa(n), "NODE", id(to)}},
	} {
		if said := asks[step.at](step.words...); said != "OK" {
			t.Fatalf("%v: %s", step.words, said)
		}
		if left := answered(t, c, 3, redis.Look, 0).Decision.Remaining; left != 9 { // on its way: ASK
			t.Errorf("after %v %d are left", step.words, left)
		}
	}
	if left := answered(t, c, 3, redis.Look, 0).Decision.Remaining; left != 9 {
		t.Errorf("after its slot has moved %d are left", left)
	}
	within(t, "replica that has all", func() bool {
		return strings.Contains(asks[from+3]("INFO", "replication"), "master_link_status:up") &&
			asks[from+3]("DBSIZE") == asks[from]("DBSIZE")
	})
	m.kill(ports[from])
	begun := time.Now()
	for key := range uint64(keys) {
		if left := answered(t, c, key, redis.Look, 0).Decision.Remaining; left != 9 {
			t.Errorf("key %d: %d are left after the failover", key, left)
		}
	}
	t.Logf("all groups are decided %v after a master of three was killed", time.Since(begun))
}

// TestSentinel: when the master is gone the replica that the sentinels have chosen decides.
func TestSentinel(t *testing.T) {
	m := newMany(t)
	config := noDisk + "replica-announce-ip " + m.host + "\n"
	master := m.start(config)
	replica := m.start(config + fmt.Sprintf("replicaof %s %d\n", m.host, master))
	var sentinels []string
	for range 3 {
		port := m.start(fmt.Sprintf("sentinel monitor limits %s %d 2\nsentinel down-after-milliseconds limits 500\n"+
			"sentinel failover-timeout limits 2000\nsentinel announce-ip %s\n", m.host, master, m.host), "--sentinel")
		sentinels = append(sentinels, m.addr(port))
	}
	ask := m.admin(replica)
	within(t, "replica", func() bool { return strings.Contains(ask("INFO", "replication"), "master_link_status:up") })
	c := open(t, fmt.Sprintf("redis://%s?addr=%s&addr=%s&master_set=limits", sentinels[0], sentinels[1], sentinels[2]))
	answered(t, c, 1, redis.Take, 4)
	for _, addr := range sentinels { // one that has not heard of the replica from itself would not choose it, and wait for seconds
		sentinel := m.admin(portOf(addr))
		if said := sentinel("SENTINEL", "DEBUG", "info-period", "200"); said != "OK" { // in place of ten seconds
			t.Fatal(said)
		}
		within(t, "sentinel that knows the others and the replica", func() bool {
			return strings.Contains(sentinel("INFO", "sentinel"), "slaves=1,sentinels=3") &&
				strings.Contains(sentinel("SENTINEL", "REPLICAS", "limits"), "master-link-status:ok")
		})
	}
	within(t, "replica that has it", func() bool { return ask("DBSIZE") != "0" })
	m.kill(master)
	begun := time.Now()
	if left := answered(t, c, 1, redis.Look, 0).Decision.Remaining; left != 6 {
		t.Errorf("%d are left after the failover, want 6", left)
	}
	t.Logf("decided %v after the master was killed", time.Since(begun))
}

func portOf(addr string) int {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return n
}

// TestReplicas: what is asked for with replicas is answered when they have heard of it, and counts as not answered if there are too few.
func TestReplicas(t *testing.T) {
	m := newMany(t)
	master := m.start(noDisk)
	replica := m.start(noDisk + fmt.Sprintf("replicaof %s %d\n", m.host, master))
	ask := m.admin(replica)
	within(t, "replica", func() bool { return strings.Contains(ask("INFO", "replication"), "master_link_status:up") })
	c := open(t, "redis://"+m.addr(master))
	answered(t, c, 1, redis.Look, 0)
	take := func(number uint64, replicas int, patience time.Duration) (redis.Reply, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		a := asked(1, redis.Take, 1)
		a.Replicas, a.Op = replicas, redis.Op{Asker: "n1", Number: number}
		return c.Ask(ctx, a)
	}
	for number := range uint64(3) {
		if r, err := take(number+1, 1, generous); err != nil || r.Decision.Remaining != int64(9-number) {
			t.Errorf("%+v, %v", r, err)
		}
		if number == 1 {
			m.admin(master)("SCRIPT", "FLUSH")
		}
	}
	if n := ask("DBSIZE"); n == "0" {
		t.Error("the replica has heard of nothing")
	}
	_, err := take(4, 2, 50*time.Millisecond)
	if k := strict.KindOf(err); k != strict.Replicas && k != strict.Timeout || errors.Is(err, redis.ErrNotDone) {
		t.Errorf("two replicas of one: %v, %v", k, err)
	}
	for range 10 {
		take(5, 2, 8*time.Millisecond)
	}
	if _, err := c.Ask(t.Context(), asked(2, redis.Look, 1)); err != nil { // who wants no replicas is answered
		t.Error(err)
	}
	a := asked(1, redis.Debit, 1)
	a.Op = redis.Op{Asker: "n1", Number: 4}
	within(t, "debit", func() bool { _, err := c.Ask(t.Context(), a); return err == nil })
	if left := answered(t, c, 1, redis.Look, 0).Decision.Remaining; left != 5 {
		t.Errorf("%d are left, want 5: each was done, and counts once", left)
	}
}

// TestTLS: a server over TLS is asked if its certificate is by an authority that is known, and else not.
func TestTLS(t *testing.T) {
	m := newMany(t)
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(m.host)}, IsCA: true,
		BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(crand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	for name, text := range map[string][]byte{"cert": public, "key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})} {
		if err := os.WriteFile(dir+"/"+name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port := m.free()
	m.start(fmt.Sprintf("%stls-port %d\ntls-cert-file %s/cert\ntls-key-file %[3]s/key\ntls-ca-cert-file %[3]s/cert\ntls-auth-clients no\n", noDisk, port, dir))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(public)
	c, err := strict.Open(strict.Config{URLs: []string{"rediss://" + m.addr(port)}, RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if left := answered(t, c, 1, redis.Take, 1).Decision.Remaining; left != 9 {
		t.Errorf("%d are left", left)
	}
	said := make(chan string, 100)
	stranger, err := strict.Open(strict.Config{URLs: []string{"rediss://" + m.addr(port)}, Logger: slog.New(slog.NewTextHandler(writer(said), nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if text := <-said; !strings.Contains(text, "certificate") {
		t.Errorf("it says %s", text)
	}
}

// writer sends what is written to a channel.
type writer chan string

func (w writer) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}

// TestLoading: a server that reads its data does nothing yet, and has all that was taken when it has.
func TestLoading(t *testing.T) {
	m := newMany(t)
	port := m.start("enable-debug-command yes\nloading-process-events-interval-bytes 1024\n")
	admin := m.admin(port)
	c := open(t, "redis://"+m.addr(port))
	for key := range uint64(200) {
		answered(t, c, key, redis.Take, 1)
	}
	if said := admin("CONFIG", "SET", "key-load-delay", "10000"); said != "OK" {
		t.Fatal(said)
	}
	reloaded := make(chan string, 1)
	go func() { reloaded <- admin("DEBUG", "RELOAD") }()
	kinds := map[strict.Kind]bool{}
	within(t, "take while it loads", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // it answers now and then
		defer cancel()
		_, err := c.Ask(ctx, asked(1, redis.Look, 1))
		if err == nil {
			return len(reloaded) > 0
		}
		if kinds[strict.KindOf(err)] = true; strict.KindOf(err) == strict.Loading && !errors.Is(err, redis.ErrNotDone) {
			t.Error("nothing was done, and it does not say so")
		}
		return kinds[strict.Loading] || len(reloaded) > 0
	})
	if said := <-reloaded; said != "OK" || !kinds[strict.Loading] {
		t.Errorf("reloading: %s; while it did: %v", said, kinds)
	}
	if left := answered(t, c, 2, redis.Look, 0).Decision.Remaining; left != 9 {
		t.Errorf("%d are left", left)
	}
}
