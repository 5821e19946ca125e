package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/replay"
	"github.com/drossel-dev/drossel/cmd/internal/weblog"
)

// replayFlags are what replay is told.
type replayFlags struct {
	rate, burst, policyFile, use string
	key                          []string
	nodes, top                   int
	asJSON                       bool
}

func replayCommand() *cobra.Command {
	f := replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Play a web log against a limit, and see who would have been denied",
		Long: `Replay reads a web log in the common or combined format (.gz too, - for stdin), puts
it in order of time, and plays it through the nodes of a cluster in this process
with the log's own time as the clock. Nothing is sent anywhere. Every check is decided
by the owner of its key, whatever the policy says of leases and sampling.

  drossel replay access.log.gz --rate 100/h --burst 20
  zcat logs/*.gz | drossel replay - --rate 10/min --key user
  drossel replay access.log --policy limits.yaml              by all policies that match
  drossel replay access.log --policy limits.yaml --use api    by that one

The key is made of attributes of the log: ` + strings.Join(weblog.AttributeNames(), ", ") + `.
Lines that can't be understood are counted, and the first five are shown.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.rate, "rate", "10/min", "`RATE` of the limit, such as 100/h")
	flags.StringVar(&f.burst, "burst", "", "burst of the limit, a `COUNT` (default: the count of the rate)")
	flags.StringSliceVar(&f.key, "key", []string{"ip"}, "`ATTRIBUTES` that make the key, or by which denials are listed if several policies apply")
	flags.StringVar(&f.policyFile, "policy", "", "YAML `FILE` of policies, instead of --rate and --burst")
	flags.StringVar(&f.use, "use", "", "`NAME` of the one policy to replay, of those of --policy")
	flags.IntVar(&f.nodes, "nodes", 3, "`NUMBER` of nodes; the result does not depend on it")
	flags.IntVar(&f.top, "top", 10, "how many denied keys to list")
	flags.BoolVar(&f.asJSON, "json", false, "print the result as JSON")
	offer(cmd, "key", weblog.AttributeNames()...)
	return cmd
}

// policies returns the set to replay with, and how: by one policy of it, or by all that match.
func (f *replayFlags) policies(cmd *cobra.Command) (set *policy.Set, opt replay.Options, err error) {
	rate := given(cmd, "rate") || given(cmd, "burst")
	switch {
	case rate && given(cmd, "policy"):
		return nil, opt, errors.New("--policy and --rate or --burst say the same thing twice: give one of them")
	case rate || f.policyFile == "" || given(cmd, "key") && !given(cmd, "policy"): // the command line wins over a --policy from elsewhere
		if f.use != "" && given(cmd, "use") {
			return nil, opt, errors.New("--use chooses from --policy: give that too")
		}
		l, err := policy.ParseRate(f.rate)
		if err != nil {
			return nil, opt, fmt.Errorf("--rate: %w", err)
		}
		if f.burst != "" {
			if l.Burst, err = policy.ParseCount(f.burst); err != nil {
				return nil, opt, fmt.Errorf("--burst: %w", err)
			}
		}
		set, err = policy.NewSet(policy.Policy{Name: "replay", Key: f.key, Limits: []policy.Limit{{Name: "replay", Limit: l}}})
		return set, replay.Options{Policy: "replay", Key: f.key}, err
	}
	if set, err = readPolicies(f.policyFile); err != nil {
		return nil, opt, err
	}
	use := f.use
	if use == "" && set.Len() == 1 && !given(cmd, "key") {
		use = set.Names()[0]
	}
	if use == "" { // all that match, listed by any attribute
		return set, replay.Options{Key: f.key}, nil
	}
	if given(cmd, "key") {
		return nil, opt, errors.New("--key says by which attributes denials are listed where all policies of --policy apply; with --use they are listed by the policy's key: leave it out")
	}
	p, err := set.Policy(use)
	if err != nil {
		return nil, opt, err
	}
	return set, replay.Options{Policy: use, Key: p.Key}, nil
}

func (f *replayFlags) run(cmd *cobra.Command, file string) error {
	if f.top < 1 {
		return fmt.Errorf("--top is %d, want 1 or more", f.top)
	}
	set, opt, err := f.policies(cmd)
	if err != nil {
		return err
	}
	log, err := weblog.ReadFile(file, cmd.InOrStdin())
	if err != nil {
		return unknown(err)
	}
	cluster, err := replay.NewCluster(cmd.Context(), f.nodes, set)
	if err != nil {
		return err
	}
	defer cluster.Close()
	progress := newProgress(os.Stderr)
	opt.Top, opt.Nodes = f.top, f.nodes
	opt.Progress = func(done, total int) { progress.show("replayed %d of %d requests", done, total) }
	report, err := replay.Run(cmd.Context(), log, cluster, opt)
	progress.end()
	if report == nil {
		return err
	}
	print := func() error { return report.WriteText(cmd.OutOrStdout(), width()) }
	if f.asJSON {
		print = func() error { return report.WriteJSON(cmd.OutOrStdout()) }
	}
	if err != nil {
		err = unknown(err)
	}
	return errors.Join(err, print())
}

// width is that of the terminal, or 0 if there is none.
func width() int {
	w, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return w
}
