package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/cmd/internal/starter"
)

func policyInitCommand() *cobra.Command {
	var of, out string
	cmd := &cobra.Command{
		Use:   "init --for " + strings.Join(starter.Names(), "|"),
		Short: "Begin a file of policies, and tests of it",
		Long: `Init writes a file of policies to begin with, in which every line is explained, and
beside it a file of tests that pass: change both together.

` + starter.Table() + `
It overwrites nothing. With --out - the policies alone go to stdout.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if of == "" {
				return fmt.Errorf("--for is missing, want %s", strings.Join(starter.Names(), ", "))
			}
			s, err := starter.For(of)
			if err != nil {
				return fmt.Errorf("--for: %w", err)
			}
			if out == "-" {
				_, err := cmd.OutOrStdout().Write(s.Policies("limits.yaml"))
				return err
			}
			tests := starter.TestsOf(out)
			if err := writeNew(map[string][]byte{out: s.Policies(out), tests: s.Tests(out)}, out, tests); err != nil {
				return err
			}
			return printBegun(cmd.OutOrStdout(), out, tests)
		},
	}
	cmd.Flags().StringVar(&of, "for", "", "what is to be limited: `"+strings.Join(starter.Names(), ", ")+"`")
	cmd.Flags().StringVar(&out, "out", "limits.yaml", "the `FILE` to write; its tests go into FILE with _test")
	offer(cmd, "for", starter.Names()...)
	return cmd
}

// writeNew writes files that must not be there yet, all or none.
func writeNew(texts map[string][]byte, names ...string) error {
	for i, name := range names {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			_, err = f.Write(texts[name])
			err = errors.Join(err, f.Close())
			i++ // it is there now
		}
		if err == nil {
			continue
		}
		for _, written := range names[:i] {
			err = errors.Join(err, os.Remove(written))
		}
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%s is there already, and is left as it is: name another by --out", name)
		}
		return unknown(err)
	}
	return nil
}

func printBegun(out io.Writer, policies, tests string) error {
	_, err := fmt.Fprintf(out, `%s has the policies, %s tests of them: change both, then

  drossel policy validate %s
  drossel policy test %s
  drossel serve --policy %s
`, policies, tests, policies, tests, policies)
	return err
}
