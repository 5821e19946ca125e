// Command drossel limits rates for a fleet without a central store: it runs a node of a cluster (serve), asks one
// (check, members, ring, leases), writes, tests and applies policies (policy), gives keys limits of their own (limits), backs up what nodes have on disk (state), replays a web log against limits (replay),
// and shows itself (demo).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/drossel-dev/drossel/cmd/internal/settings"
)

// Exit codes, the same for every command.
const (
	exitYes     = 0 // done; allowed; all is well
	exitNo      = 1 // denied; not well; or what was asked for is invalid
	exitUnknown = 2 // could not tell: a node was not reached, a file not read
)

// exit is an error that knows its exit code. Without a text nothing is printed for it.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// unknown marks an error as one after which the answer is not known.
func unknown(err error) error { return &exit{exitUnknown, err} }

func main() {
	// The first signal ends what runs politely, the second ends it.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, root()))
}

// execute runs a command, prints its error, and returns its exit code.
func execute(ctx context.Context, cmd *cobra.Command) int {
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitYes
	}
	if err.Error() != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "drossel:", err)
	}
	if e, ok := errors.AsType[*exit](err); ok {
		return e.code
	}
	return exitNo
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drossel",
		Short: "A rate limiter that a fleet runs on itself",
		Long: `Drossel limits rates for a fleet of services without a central store. Its nodes
find each other by gossip, each owns a part of the keys, and a check is decided
where it is asked for or one hop away. What a node owned that is lost is taken over
from a copy.

  drossel demo                      see three nodes decide together
  drossel serve                     run a node, alone on loopback
  drossel check api ann             ask it
  drossel policy init --for api     begin a file of policies
  drossel replay access.log         see who a limit would have denied

Every flag can also be set in a YAML file (--config, or DROSSEL_CONFIG) under its
own name, and as an environment variable: --table-bytes is DROSSEL_TABLE_BYTES.
The command line wins over the environment, and that over the file.

Exit codes: 0 yes, 1 no, denied or invalid, 2 could not tell.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: applySettings,
	}
	cmd.PersistentFlags().String("config", "", "YAML `FILE` with values for flags, by their names")
	cmd.AddCommand(serveCommand(), checkCommand(), membersCommand(), ringCommand(), leasesCommand(), policyCommand(), limitsCommand(), stateCommand(),
		replayCommand(), demoCommand(), versionCommand())
	return cmd
}

// onCommandLine marks the flags that the command line has set, and not a file or the environment.
const onCommandLine = "on the command line"

// applySettings fills in the flags that the command line has not set.
func applySettings(cmd *cobra.Command, _ []string) error {
	if cmd.Root() != cmd && cmd.RunE == nil { // help and completion are cobra's own, and have no settings
		return nil
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		cmd.Flags().SetAnnotation(f.Name, onCommandLine, nil)
	})
	from := settings.Sources{Environ: os.Environ(), Elsewhere: elsewhere(cmd)}
	from.File, _ = cmd.Flags().GetString("config")
	if from.File == "" {
		from.File = os.Getenv(settings.Prefix + "CONFIG")
	}
	if from.File != "" {
		text, err := os.ReadFile(from.File)
		if err != nil {
			return unknown(fmt.Errorf("read the settings: %w", err))
		}
		from.Text = text
	}
	warnings, err := settings.Apply(cmd.Flags(), from)
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, "drossel: warning:", w)
	}
	return err
}

// given says whether the command line has set a flag.
func given(cmd *cobra.Command, name string) bool {
	_, ok := cmd.Flags().Lookup(name).Annotations[onCommandLine]
	return ok
}

// offer completes a flag's value to one of these.
func offer(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // there is no such flag
	}
}

// elsewhere lists the flags of all other commands: one environment, and one file, serve all.
func elsewhere(cmd *cobra.Command) (names []string) {
	var visit func(of *cobra.Command)
	visit = func(of *cobra.Command) {
		for _, other := range of.Commands() {
			other.LocalFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			visit(other)
		}
	}
	visit(cmd.Root())
	return names
}
