package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/node/store"
)

func stateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Back up, move and check what a node has on disk",
		Long: `State is about the directories that nodes have by --data-dir: the name of the node,
policies that were applied, limits of single keys, and what was taken of limits that
are durable. No node may have a directory open meanwhile; of one that has, use a copy
of its directory.

  drossel state verify DIR            says what there is, and what is damaged
  drossel state export DIR FILE       writes all of it into one file
  drossel state import FILE... DIR    adds what files have to a directory, which may be
                                      new; of what is in several the newest counts

A cluster's state is that of a majority of its nodes: export so many. Keys mean the
same only where --secret-file and --partitions are the same.`,
	}
	cmd.AddCommand(stateVerifyCommand(), stateExportCommand(), stateImportCommand())
	return cmd
}

func stateVerifyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Say what there is in a directory, and what is damaged",
		Long: `Verify reads all that is in a directory and changes nothing. The exit code is 0 if
all is whole, 1 if something is damaged, 2 if it can't be read.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sum, err := store.Verify(args[0])
			if err != nil {
				return unknown(err)
			}
			if asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(sum)
			} else {
				_, err = io.WriteString(cmd.OutOrStdout(), summed(sum))
			}
			if err == nil && len(sum.Damage) > 0 {
				err = &exit{exitNo, errors.New("damaged: " + strings.Join(sum.Damage, "; "))}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// summed says what there is in a directory, a line each.
func summed(s store.Summary) string {
	var b strings.Builder
	if s.Name != "" {
		fmt.Fprintf(&b, "node      %s, of %s\n", s.Name, strings.Join(s.Members, ", "))
	}
	fmt.Fprintf(&b, "policies  %d editions\nlimits    of %d keys\n", s.Editions, s.Limits)
	if s.Batches == 0 {
		b.WriteString("durable   nothing\n")
	} else {
		fmt.Fprintf(&b, "durable   %d batches of %d partitions, the last one of %s\n", s.Batches, s.Partitions, s.Newest.UTC().Format(time.RFC3339))
	}
	return b.String()
}

func stateExportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export DIR FILE",
		Short: "Write all that is in a directory into one file",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			temporary := args[1] + ".new"
			f, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
			if err != nil {
				return unknown(err)
			}
			sum, err := store.Export(args[0], f)
			if err == nil {
				err = f.Sync()
			}
			if err = errors.Join(err, f.Close()); err == nil {
				err = os.Rename(temporary, args[1])
			}
			if err != nil {
				return unknown(errors.Join(err, os.Remove(temporary)))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), summed(sum))
			return err
		},
	}
}

func stateImportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE... DIR",
		Short: "Add what exported files have to a directory",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[len(args)-1]
			for _, name := range args[:len(args)-1] {
				f, err := os.Open(name)
				if err != nil {
					return unknown(err)
				}
				sum, err := store.Import(f, dir, nil)
				f.Close()
				if err != nil {
					return unknown(fmt.Errorf("%s: %w", name, err))
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s", name, summed(sum)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
