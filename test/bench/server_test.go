package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// startRedis starts a server on a free port of loopback, which ends with the test, and returns a client of it with
// rueidis's defaults: checks that wait at the same time leave in one write.
func startRedis(tb testing.TB) rueidis.Client {
	tb.Helper()
	client, _, _ := redisServer(tb)
	return client
}

// startRedisAt starts a server like startRedis, and returns its process and address.
func startRedisAt(tb testing.TB) (daemon, string) {
	tb.Helper()
	_, d, addr := redisServer(tb)
	return d, addr
}

func redisServer(tb testing.TB) (rueidis.Client, daemon, string) {
	tb.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Skip("redis-server is not installed, so there is nothing to compare with: install it (redis.io) and run again")
	}
	const tries = 5
	for range tries {
		client, d, addr, err := tryRedis(tb, program)
		if err == nil {
			return client, d, addr
		}
		if !errors.Is(err, errEnded) {
			tb.Fatal(err)
		}
		tb.Logf("trying another port: %v", err)
	}
	tb.Fatalf("%s ended at once on %d ports", program, tries)
	return nil, daemon{}, ""
}

// errEnded says that a server ended before it answered; most likely somebody else took the port.
var errEnded = errors.New("redis-server ended")

func tryRedis(tb testing.TB, program string) (c rueidis.Client, d daemon, addr string, err error) {
	tb.Helper()
	port, err := freePort()
	if err != nil {
		return nil, d, "", err
	}
	cmd := exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--dir", tb.TempDir(),
		"--save", "", "--appendonly", "no", "--loglevel", "warning")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, d, "", fmt.Errorf("starting %s: %w", program, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var client rueidis.Client
	stop := func() {
		if client != nil {
			client.Close()
		}
		cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer late.Stop()
		<-ended
	}
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case err := <-ended:
			return nil, d, "", fmt.Errorf("%w on port %s: %v", errEnded, port, err)
		case <-ctx.Done():
			stop()
			return nil, d, "", fmt.Errorf("redis-server, process %d, does not answer on port %s: %w", cmd.Process.Pid, port, ctx.Err())
		case <-ticks.C:
		}
		if client == nil {
			if client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:" + port}}); err != nil {
				client = nil
				continue
			}
		}
		pid, err := redisStat(ctx, client, "server", "process_id")
		if err == nil && pid == strconv.Itoa(cmd.Process.Pid) { // else it is somebody else's, and ours about to end
			tb.Cleanup(stop)
			return client, daemon{cmd.Process.Pid}, "127.0.0.1:" + port, nil
		}
	}
}

// freePort returns a port of loopback that nobody listens at now. Somebody else may be faster.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// redisStat returns one line of INFO.
func redisStat(ctx context.Context, c rueidis.Client, section, name string) (string, error) {
	text, err := c.Do(ctx, c.B().Info().Section(section).Build()).ToString()
	if err != nil {
		return "", fmt.Errorf("redis INFO %s: %w", section, err)
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("redis INFO %s has no %s", section, name)
}
