package strict_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
	"github.com/drossel-dev/drossel/node/strict"
)

// server is a redis-server on a socket.
type server struct {
	testing.TB
	dir, socket string
	args        []string
	cmd         *exec.Cmd
}

func newServer(t testing.TB, args ...string) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server: test/run installs it")
	}
	dir, err := os.MkdirTemp("", "r") // a short name: sockets have no long ones
	if err != nil {
		t.Fatal(err)
	}
	s := &server{TB: t, dir: dir, socket: filepath.Join(dir, "s"), args: args}
	t.Cleanup(func() {
		s.kill()
		os.RemoveAll(dir)
	})
	return s
}

func (s *server) start() *server {
	s.Helper()
	args := append([]string{"--port", "0", "--unixsocket", s.socket, "--save", "", "--appendonly", "no", "--dir", s.dir}, s.args...)
	s.cmd = exec.Command("redis-server", args...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it ends with the tests, however these do
	if err := s.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	return s
}

func (s *server) kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
	}
}

func (s *server) signal(sig os.Signal) {
	s.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.Fatal(err)
	}
}

func (s *server) url() string { return "unix://" + s.socket }

// admin is a client of its own.
func (s *server) admin() rueidis.Client {
	s.Helper()
	var c rueidis.Client
	within(s, "a server that answers", func() bool {
		option, err := rueidis.ParseURL(s.url())
		if err != nil {
			s.Fatal(err)
		}
		option.DisableCache = true
		c, err = rueidis.NewClient(option)
		return err == nil
	})
	s.Cleanup(c.Close)
	return c
}

func tell(t testing.TB, c rueidis.Client, words ...string) {
	t.Helper()
	if err := c.Do(context.Background(), c.B().Arbitrary(words...).Build()).Error(); err != nil {
		t.Fatalf("%v: %v", words, err)
	}
}

const generous = 20 * time.Second

// within waits for a condition, and returns how long that took.
func within(t testing.TB, what string, so func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	looks := time.NewTicker(time.Millisecond)
	defer looks.Stop()
	for !so() {
		if time.Since(begun) > generous {
			t.Fatalf("no %s within %v", what, generous)
		}
		<-looks.C
	}
	return time.Since(begun)
}

func open(t testing.TB, urls ...string) *strict.Client {
	t.Helper()
	c, err := strict.Open(strict.Config{URLs: urls})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ten is a limit of ten a day.
var ten = []bucket.Limit{{Count: 1, Per: 24 * time.Hour, Burst: 10, Tag: 1}}

func asked(key uint64, do redis.Do, cost int64) *redis.Ask {
	return &redis.Ask{Do: do, Policy: "api", ID: idOf(key), Limits: ten, Costs: []int64{cost}}
}

func idOf(key uint64) bucket.ID { return bucket.ID{Hi: key, Lo: 1} }

func ask(c *strict.Client, key uint64, do redis.Do, cost int64) (redis.Reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Millisecond)
	defer cancel()
	return c.Ask(ctx, asked(key, do, cost))
}

// answered asks until there is an answer: the machine may be slow.
func answered(t testing.TB, c *strict.Client, key uint64, do redis.Do, cost int64) (r redis.Reply) {
	t.Helper()
	within(t, "answer", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), generous)
		defer cancel()
		var err error
		r, err = c.Ask(ctx, asked(key, do, cost))
		return err == nil
	})
	return r
}

// proxy passes bytes on to a server, and loses what the script answers when it is told to.
type proxy struct {
	net.Listener
	loses atomic.Bool
	conns sync.WaitGroup
}

func newProxy(t testing.TB, to *server) *proxy {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(to.dir, "p"))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l}
	p.conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("unix", to.socket)
			if err != nil {
				c.Close()
				continue
			}
			p.conns.Go(func() { io.Copy(s, c); s.Close() })
			p.conns.Go(func() {
				defer c.Close()
				b := make([]byte, 4096)
				for {
					n, err := s.Read(b)
					if err != nil || p.loses.Load() && b[0] == '*' { // not of a connection that is only being made
						return
					}
					c.Write(b[:n])
				}
			})
		}
	})
	t.Cleanup(func() { l.Close() })
	return p
}

func (p *proxy) url() string { return fmt.Sprintf("unix://%s", p.Addr()) }

var stop, goOn os.Signal = syscall.SIGSTOP, syscall.SIGCONT
