package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// islands are network namespaces for one daemon each. Two cables lead to each of them: one to a switch that joins them
// all, over which the daemons talk, and one to the tests, which stays when the first is moved to a switch that leads
// nowhere else.
type islands struct {
	tag string // of the names of this process's devices and namespaces
	net string // of the tests' addresses
	all int
}

// newIslands makes namespaces and takes them away when the test ends. It skips the test where that is not permitted.
func newIslands(t *testing.T, n int) *islands {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("network namespaces are made with ip, of iproute2: %v", err)
	}
	sweepIslands(t)
	pid := os.Getpid()
	// 198.18.0.0/15 is for tests of networks, RFC 2544. No other process that runs has this pid, and few have this network.
	x := &islands{tag: fmt.Sprintf("dr%x", pid), net: fmt.Sprintf("198.%d.%d", 18+pid/256%2, pid%256), all: n}
	if out, err := exec.Command("ip", "netns", "add", x.space(0)).CombinedOutput(); err != nil {
		t.Skipf("network namespaces are not permitted here: %v: %s", err, out)
	}
	t.Cleanup(func() { x.remove(t) }) // after that of the daemons, which come later
	for i := 1; i < n; i++ {
		x.ip(t, "netns add "+x.space(i))
	}
	for _, bridge := range []string{x.tag + "a", x.tag + "b", x.tag + "t"} {
		x.ip(t, "link add "+bridge+" type bridge")
		x.ip(t, "link set "+bridge+" up")
	}
	x.ip(t, fmt.Sprintf("addr add %s.254/24 dev %st", x.net, x.tag))
	for i := range n {
		x.ip(t, "-n "+x.space(i)+" link set lo up")
		x.cable(t, i, "a", x.inner(i))
		x.cable(t, i, "t", x.outer(i))
	}
	return x
}

// sweepIslands removes what tests have left that were killed before they could: their names say by which process.
func sweepIslands(t *testing.T) {
	t.Helper()
	list, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		t.Skipf("network namespaces are not permitted here: %v", err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(dr([0-9a-f]+))-\d+`).FindAllStringSubmatch(string(list), -1) {
		pid, err := strconv.ParseInt(m[2], 16, 32)
		if err != nil || !errors.Is(syscall.Kill(int(pid), 0), syscall.ESRCH) {
			continue
		}
		left, _ := exec.Command("ip", "netns", "pids", m[0]).Output() // none, if that is not known
		for _, word := range strings.Fields(string(left)) {
			if daemon, err := strconv.Atoi(word); err == nil {
				syscall.Kill(daemon, syscall.SIGKILL) // or it has ended meanwhile
			}
		}
		exec.Command("ip", "netns", "del", m[0]).Run() // or somebody else has swept as well
		for _, end := range []string{"a", "b", "t"} {
			exec.Command("ip", "link", "del", m[1]+end).Run()
		}
	}
}

func (x *islands) space(i int) string { return fmt.Sprintf("%s-%d", x.tag, i) }
func (x *islands) inner(i int) string { return fmt.Sprintf("10.9.0.%d", i+1) }
func (x *islands) outer(i int) string { return fmt.Sprintf("%s.%d", x.net, i+1) }

// cable connects a namespace to a switch.
func (x *islands) cable(t *testing.T, i int, end, addr string) {
	t.Helper()
	port := x.port(i, end)
	x.ip(t, fmt.Sprintf("link add %s type veth peer name %s netns %s", port, end, x.space(i)))
	x.ip(t, fmt.Sprintf("link set dev %s master %s%s up", port, x.tag, end))
	x.ip(t, fmt.Sprintf("-n %s addr add %s/24 dev %s", x.space(i), addr, end))
	x.ip(t, fmt.Sprintf("-n %s link set dev %s up", x.space(i), end))
}

func (x *islands) port(i int, end string) string { return fmt.Sprintf("%s%s%d", x.tag, end, i) }

// move connects some to the switch a, where all are at first, or to b.
func (x *islands) move(t *testing.T, end string, some ...int) {
	t.Helper()
	for _, i := range some {
		x.ip(t, fmt.Sprintf("link set dev %s master %s%s", x.port(i, "a"), x.tag, end))
	}
}

func (x *islands) ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// remove takes away whatever there is; cables go with their namespaces.
func (x *islands) remove(t *testing.T) {
	for i := range x.all {
		if out, err := exec.Command("ip", "netns", "del", x.space(i)).CombinedOutput(); err != nil {
			t.Logf("a network namespace may be left: ip netns del %s: %v: %s", x.space(i), err, out)
		}
	}
	for _, end := range []string{"a", "b", "t"} {
		if out, err := exec.Command("ip", "link", "del", x.tag+end).CombinedOutput(); err != nil {
			t.Logf("a bridge may be left: ip link del %s%s: %v: %s", x.tag, end, err, out)
		}
	}
}

// launch starts a daemon in each namespace, at ports that nobody else has there, and returns when all are ready.
func (x *islands) launch(t *testing.T, args ...string) (all []*daemon) {
	t.Helper()
	var seeds []string
	for i := range x.all {
		seeds = append(seeds, x.inner(i)+":7946")
	}
	for i := range x.all {
		in := command{swift: true, by: []string{"ip", "netns", "exec", x.space(i)}}
		all = append(all, launch(t, in, append([]string{
			"--name", fmt.Sprint("n", i+1), "--label", t.Name(), "--insecure",
			"--gossip", seeds[i], "--grpc", x.outer(i) + ":7070", "--http", x.outer(i) + ":7080",
			"--join", strings.Join(seeds, ","), "--expect", fmt.Sprint(x.all),
		}, args...)...))
	}
	for _, d := range all {
		d.ready(t)
	}
	return all
}
