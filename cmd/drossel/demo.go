package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/demo"
)

func demoCommand() *cobra.Command {
	var duration time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See three nodes decide together, one die, and nothing over-admitted",
		Long: fmt.Sprintf(`Demo starts three real nodes in this process, on free ports of loopback. At each,
%d callers ask for %d keys of %s, and %d more for a hot one of
%s, all the time: its owner lends it. Half-way that owner is killed, and the others take
over. Then it holds what was admitted against what may be: the exit code is 1 if more was,
or if a check got no answer.`,
			demo.CallersPerNode, demo.Keys, limitText(demo.Limit), demo.HotCallersPerNode, limitText(demo.HotLimit)),
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
	fmt.Fprintf(out, "%d nodes, %s killed after half of %.1f s; %d keys of %s, and a hot one of %s\n\n",
		r.Nodes, r.Killed, r.Seconds, demo.Keys, limitText(demo.Limit), limitText(demo.HotLimit))
	row := func(name string, of func(*demo.Sums) any) {
		fmt.Fprintf(w, "%s\t%v\t%v\t\n", name, of(&r.Others), of(&r.Hot))
	}
	fmt.Fprintf(w, "\t%d keys\thot key\t\n", demo.Keys)
	row("checks", func(s *demo.Sums) any { return s.Checks })
	row("admitted", func(s *demo.Sums) any { return s.Admitted })
	row("bound", func(s *demo.Sums) any { return s.Bound })
	row("over-admitted", func(s *demo.Sums) any { return s.OverAdmitted })
	row("allowed for the crash", func(s *demo.Sums) any { return s.AllowanceCrash })
	row("admitted by rule", func(s *demo.Sums) any { return s.AllowanceRule })
	row("used of both", func(s *demo.Sums) any { return s.AllowanceUsed })
	row("degraded", func(s *demo.Sums) any { return s.Decided.Rule })
	row("decided where asked", func(s *demo.Sums) any { return fmt.Sprintf("%.1f %%", 100*s.LocalShare) })
	row("by the owner", func(s *demo.Sums) any { return s.Decided.Own })
	row("by lease", func(s *demo.Sums) any { return s.Decided.Lease })
	row("by deny lease", func(s *demo.Sums) any { return s.Decided.DenyLease })
	row("decided one hop away", func(s *demo.Sums) any { return s.Decided.Forwarded })
	row("p50", func(s *demo.Sums) any { return micros(s.P50) })
	row("p99", func(s *demo.Sums) any { return micros(s.P99) })
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nerrors: %d\n", r.Errors)
	if r.FirstError != "" {
		fmt.Fprintf(out, "one of them: %s\n", r.FirstError)
	}
	if r.Disturbed > 0 {
		fmt.Fprintf(out, "\nTimes that another node was taken for lost as well: %d. This machine was too slow for its heartbeats.\n",
			r.Disturbed)
	}
	_, err := fmt.Fprintf(out, `
%s owned %d of the keys, the hot one among them, and died without a word. After %.0f ms each partition
had an owner again, which went on from a copy; meanwhile failure rules decided, each node by its share.
Near the end %d of %d tokens of the hot key that may be lent were out: %s.
%d messages about leases of any key were sent, %.2f for each admitted check, many to a frame.

The bound is burst + rate x time for each key, leases included: what is lent has left the bucket before.
Beside it there is an allowance: what the dead node may have debited since its last copy, a tenth of a
second ago or so, and what failure rules admitted. It is used in full only where a key got more than
burst + rate x time, in any span of time, by as much.
`, r.Killed, r.Lost, 1000*r.OwnerlessSecs,
		r.HotLeases.Out, r.HotLeases.Lendable, cmp.Or(holders(&r.HotLeases), "to nobody"),
		r.LeaseMessages, float64(r.LeaseMessages)/float64(max(r.Admitted, 1)))
	return err
}

func limitText(l bucket.Limit) string {
	return fmt.Sprintf("%s burst %d", policy.FormatRate(l), l.Burst)
}

func micros(seconds float64) string {
	if us := seconds * 1e6; us < 10 {
		return fmt.Sprintf("%.1f µs", us)
	}
	return fmt.Sprintf("%.0f µs", seconds*1e6)
}
