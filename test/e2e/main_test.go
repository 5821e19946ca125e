package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// binary is the program under test, with the race detector if the tests have it, and swift the same without it.
var binary, swift string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "drossel-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary, swift = filepath.Join(dir, "drossel"), filepath.Join(dir, "drossel")
	err = build(swift)
	if err == nil && raceDetector {
		binary = filepath.Join(dir, "drossel-race")
		err = build(binary, "-race")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.RemoveAll(dir)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

func build(to string, flags ...string) error {
	args := slices.Concat([]string{"build", "-o", to}, flags)
	out, err := exec.Command("go", append(args, "../../cmd/drossel")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// patience is how long anything may take that should take seconds at most.
const patience = time.Minute

// waitFor waits for a condition.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	waitEvery(t, 10*time.Millisecond, what, holds)
}

// waitEvery waits for a condition that is not to be looked at all the time.
func waitEvery(t *testing.T, interval time.Duration, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited %v for %s", patience, what)
		case <-ticks.C:
		}
	}
}

// output is what a process prints, while it does.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command is how the program is called, besides its arguments. The zero command has an environment without settings.
type command struct {
	env   []string // NAME=value, of settings
	stdin io.Reader
	by    []string // what runs the program, instead of this process
	swift bool     // the program has no race detector, with which it is ten times as slow
}

// endsAtOnce is in the environment of what is built with the race detector: by default it waits a second at its end, for
// races in what still runs.
const endsAtOnce = "GORACE=atexit_sleep_ms=0"

// prepare returns the process, not yet started.
func (c command) prepare(ctx context.Context, args ...string) *exec.Cmd {
	program := binary
	if c.swift {
		program = swift
	}
	argv := slices.Concat(c.by, []string{program}, args)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "DROSSEL_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, endsAtOnce)
	cmd.Env = append(cmd.Env, c.env...)
	cmd.Stdin = c.stdin
	return cmd
}

// result is what became of a command that has ended.
type result struct {
	stdout, stderr string
	code           int
}

// run runs the program to its end.
func (c command) run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := c.prepare(ctx, args...)
	var stdout, stderr output
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("drossel %.200q: %v", args, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("drossel %.200q has not ended in %v:\n%s", args, patience, stderr.String())
	}
	r := result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	sound(t, r.stderr)
	return r
}

func run(t *testing.T, args ...string) result {
	t.Helper()
	return command{}.run(t, args...)
}

// sound fails the test if a log shows what no program may do.
func sound(t *testing.T, log string) {
	t.Helper()
	for _, mark := range []string{"panic:", "DATA RACE", "fatal error:"} {
		if i := strings.Index(log, mark); i >= 0 {
			t.Errorf("on stderr: %.1200s", log[i:])
		}
	}
}

// wants fails the test unless the command ended with the code, and what it says has all the parts.
func (r result) wants(t *testing.T, code int, parts ...string) {
	t.Helper()
	var missing []string
	for _, part := range parts {
		if !strings.Contains(r.stdout+r.stderr, part) {
			missing = append(missing, part)
		}
	}
	if r.code != code || len(missing) > 0 {
		t.Errorf("exit code %d, want %d; it does not say %q:\n%.1200s%.1200s", r.code, code, missing, r.stdout, r.stderr)
	}
}

// file writes a file for a test and returns its name.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
