package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/node"
)

// seedVariable, if set, makes this binary the peer process: a node that joins the gossip address given.
const seedVariable = "DROSSEL_BENCH_SEED"

const peerName = "peer-process"

// addresses is the first line of the peer process.
type addresses struct {
	Gossip string `json:"gossip"`
	Peer   string `json:"peer"`
}

// usage is its answer to every line that it reads.
type usage struct {
	CPU time.Duration `json:"cpu_nanoseconds"`
}

// servePeer is the peer process: it runs a node until in ends.
func servePeer(seed string, in io.Reader, out io.Writer) (err error) {
	set, err := policies()
	if err != nil {
		return err
	}
	n, err := node.New(node.Config{Name: peerName, Gossip: "127.0.0.1:0", Join: []string{seed}, Policies: set})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := n.Start(context.Background()); err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	if err := lines.Encode(addresses{n.GossipAddr(), n.PeerAddr()}); err != nil {
		return fmt.Errorf("telling the addresses: %w", err)
	}
	asked := bufio.NewScanner(in)
	for asked.Scan() {
		used, err := cpu()
		if err != nil {
			return err
		}
		if err := lines.Encode(usage{used}); err != nil {
			return fmt.Errorf("telling the CPU time: %w", err)
		}
	}
	return asked.Err()
}

// peer is the peer process as its parent sees it.
type peer struct {
	addresses
	mu    sync.Mutex // one question at a time
	stdin io.WriteCloser
	lines *json.Decoder
}

// startPeer starts this binary once more, as a node that joins the seed. It ends with the test, and also if the parent
// dies, because its standard input ends then.
func startPeer(tb testing.TB, seed string) *peer {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), seedVariable+"="+seed)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("starting %s once more: %v", program, err)
	}
	tb.Cleanup(func() {
		stdin.Close()
		end(tb, cmd)
	})
	p := &peer{stdin: stdin, lines: json.NewDecoder(stdout)}
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer late.Stop()
	if err := p.lines.Decode(&p.addresses); err != nil {
		tb.Fatalf("the peer process %d did not tell its addresses: %v", cmd.Process.Pid, err)
	}
	return p
}

// end waits for a process that was told to end, and kills it if it does not.
func end(tb testing.TB, cmd *exec.Cmd) {
	tb.Helper()
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer late.Stop()
	if err := cmd.Wait(); err != nil {
		tb.Errorf("%s, process %d: %v", cmd.Path, cmd.Process.Pid, err)
	}
}

// cpu asks for the CPU time that the process has used.
func (p *peer) cpu() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := io.WriteString(p.stdin, "cpu\n"); err != nil {
		return 0, fmt.Errorf("asking the peer process for its CPU time: %w", err)
	}
	var u usage
	if err := p.lines.Decode(&u); err != nil {
		return 0, fmt.Errorf("reading the CPU time of the peer process: %w", err)
	}
	return u.CPU, nil
}
