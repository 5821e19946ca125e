package bench

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
)

// others has the programs of others built and run: that takes some minutes the first time.
var others = flag.Bool("others", false, "build and run Gubernator and envoyproxy/ratelimit as well")

// wantOthers skips what needs the programs of others.
func wantOthers(tb testing.TB) {
	tb.Helper()
	if !*others {
		tb.Skip("it builds and runs the programs of others: ask for it with -others")
	}
}

var built sync.Map // by package: the path, made once

// build builds a program of the module in a folder and returns its path.
func build(tb testing.TB, folder, pkg string) string {
	tb.Helper()
	once, _ := built.LoadOrStore(pkg, sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "drossel-bench-")
		if err != nil {
			return "", err
		}
		name := filepath.Join(dir, filepath.Base(pkg))
		out, err := exec.Command("go", "build", "-C", folder, "-o", name, pkg).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
		cleanups = append(cleanups, func() { os.RemoveAll(dir) })
		return name, nil
	}))
	path, err := once.(func() (string, error))()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// cleanups are called when all tests have run. Builds are made one at a time.
var cleanups []func()

// daemon is a process of some system.
type daemon struct{ pid int }

// start runs a program, which ends with the test. What it prints is kept, and shown if the test fails.
func start(tb testing.TB, program string, env []string, args ...string) daemon {
	tb.Helper()
	log, err := os.CreateTemp(tb.TempDir(), "log")
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		defer late.Stop()
		cmd.Wait()
		log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && tb.Failed() {
			tb.Logf("%s said:\n%s", filepath.Base(program), text[max(0, len(text)-2000):])
		}
	})
	return daemon{cmd.Process.Pid}
}

// cpu returns the CPU time that the process has used, in ticks of 10 ms.
func (d daemon) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", d.pid, len(fields))
	}
	var ticks int64
	for _, f := range fields[11:13] { // proc(5): utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// freeAddrs returns addresses of loopback at which nobody listens now, each of another port.
func freeAddrs(tb testing.TB, n int) []string {
	tb.Helper()
	all := make([]string, n)
	for i := range all {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer l.Close()
		all[i] = l.Addr().String()
	}
	return all
}

// dial connects to a server of gRPC and waits until it is there.
func dial(tb testing.TB, addr string) *grpc.ClientConn {
	tb.Helper()
	c, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	for s := c.GetState(); s != connectivity.Ready; s = c.GetState() {
		c.Connect()
		c.ResetConnectBackoff()
		if !c.WaitForStateChange(ctx, s) {
			tb.Fatalf("%s does not answer: %v", addr, s)
		}
	}
	return c
}

// cluster is a system of several daemons.
type cluster struct {
	daemons []daemon
	conns   []*grpc.ClientConn // one for each caller, over all nodes in turn
}

// cpu returns the CPU time of all daemons.
func (c *cluster) cpu() (sum time.Duration, err error) {
	for _, d := range c.daemons {
		used, err := d.cpu()
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// connect makes a connection for each caller.
func (c *cluster) connect(tb testing.TB, addrs []string, callers int) {
	tb.Helper()
	for i := range callers {
		c.conns = append(c.conns, dial(tb, addrs[i%len(addrs)]))
	}
}
