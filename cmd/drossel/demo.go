package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/cmd/internal/demo"
)

func demoCommand() *cobra.Command {
	var duration time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See three nodes decide together, one leave, and nothing over-admitted",
		Long: `Demo starts three real nodes in this process, on free ports of loopback, and has 24
callers ask them for 200 keys of 50/s burst 100, every third time for the same hot
one. Half-way one node is stopped politely. Then it holds what was admitted
against what may be: the exit code is 1 if more was, or if a check got no answer.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := newProgress(os.Stderr)
			r, err := demo.Run(cmd.Context(), demo.Options{Duration: duration, Progress: func(now demo.Progress) {
				p.show("%4.1f s: %d nodes, %d checks, %d admitted", now.Elapsed.Seconds(), now.Nodes, now.Checks, now.Admitted)
			}})
			p.end()
			if errors.Is(err, demo.ErrDuration) {
				return fmt.Errorf("--duration: %w", err)
			}
			if err != nil {
				return unknown(err)
			}
			if asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			} else {
				err = printDemo(cmd.OutOrStdout(), r)
			}
			if err == nil && !r.Kept() {
				err = errors.New("a promise was broken")
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", 6*time.Second, "how long the load lasts")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

func printDemo(out io.Writer, r *demo.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "%d nodes, one stopped politely after half of %.1f s; every key has 50/s burst 100\n\n", r.Nodes, r.Seconds)
	row := func(name string, all, hot any) { fmt.Fprintf(w, "%s\t%v\t%v\t\n", name, all, hot) }
	row("", "all keys", "hot key")
	row("checks", r.Checks, r.Hot.Checks)
	row("admitted", r.Admitted, r.Hot.Admitted)
	row("bound", r.Bound, r.Hot.Bound+r.Hot.AllowanceMoved+r.Hot.AllowanceRule)
	row("over-admitted", r.OverAdmitted, r.Hot.Over)
	row("errors", r.Errors, "")
	row("degraded", r.Degraded, "")
	row("decided where asked", fmt.Sprintf("%.1f %%", 100*r.LocalShare), "")
	row("p50", micros(r.P50), "")
	row("p99", micros(r.P99), "")
	if err := w.Flush(); err != nil {
		return err
	}
	if r.FirstError != "" {
		fmt.Fprintf(out, "\nan error: %s\n", r.FirstError)
	}
	_, err := fmt.Fprintf(out, `
The bound is burst + rate x time for each key, and beside it an allowance for what is not yet
done: %d for the %d keys whose owner changed (their buckets do not move with them yet: each starts
full once more, and old and new owner both decide for a moment), and %d that failure rules admitted.
`, r.AllowanceMoved, r.Moved, r.AllowanceRule)
	return err
}

func micros(seconds float64) string { return fmt.Sprintf("%.0f µs", seconds*1e6) }
