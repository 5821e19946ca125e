package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/envoyimport"
)

func policyImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Make policies of what another rate limiter is configured with",
		Long: `Import writes policies to stdout that decide as another rate limiter does with the
configuration it is given:

  drossel policy import envoy config.yaml > limits.yaml`,
	}
	cmd.AddCommand(policyImportEnvoyCommand())
	return cmd
}

func policyImportEnvoyCommand() *cobra.Command {
	var lossy bool
	cmd := &cobra.Command{
		Use:   "envoy FILE...",
		Short: "Make policies of the files of Envoy's rate limit service",
		Long: `Envoy reads the files of Envoy's reference rate limit service (envoyproxy/ratelimit;
- is stdin), one or several for a domain, and writes one file of policies that decide
the same for the descriptors that Envoy sends. Each rule becomes a policy, with the
line that it is from above it.

What can't be carried over is said on stderr, with file and line, why, and what to do
instead. If decisions would be others without it, nothing is written, unless --lossy.

The exit code is 0 if policies were written, 1 if a file is wrong or decisions would be
others, 2 if a file can't be read.`,
		Example: "  drossel policy import envoy config/*.yaml > limits.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var files []envoyimport.File
			for _, name := range args {
				text, err := readText(name, cmd.InOrStdin())
				if err != nil {
					return err
				}
				if name == "-" {
					name = "stdin"
				}
				if len(text) > policy.MaxTextBytes {
					return fmt.Errorf("%s has more than %d bytes: import a part of it at a time", name, policy.MaxTextBytes)
				}
				files = append(files, envoyimport.File{Name: name, Text: text})
			}
			return importEnvoy(cmd, files, lossy)
		},
	}
	cmd.Flags().BoolVar(&lossy, "lossy", false, "write the policies also if they decide otherwise in what is said on stderr")
	return cmd
}

func importEnvoy(cmd *cobra.Command, files []envoyimport.File, lossy bool) error {
	res, err := envoyimport.Import(files)
	if bad, ok := errors.AsType[*policy.ParseError](err); ok {
		for _, p := range bad.Problems {
			if _, err := fmt.Fprintln(cmd.ErrOrStderr(), p); err != nil {
				return unknown(err)
			}
		}
		return &exit{exitNo, nil}
	}
	if err != nil {
		return err
	}
	others := 0
	for _, n := range res.Notes {
		how := "note: "
		if n.Decides {
			others, how = others+1, "other decisions: "
		}
		if _, err := fmt.Fprintln(cmd.ErrOrStderr(), how+n.String()); err != nil {
			return unknown(err)
		}
	}
	if others > 0 && !lossy {
		return fmt.Errorf("nothing is written, for decisions would be others (%d of the lines above): change them, or say --lossy to have the rest", others)
	}
	_, err = cmd.OutOrStdout().Write(res.Policies)
	return err
}
