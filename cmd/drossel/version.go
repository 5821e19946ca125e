package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/transport"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the frame versions spoken between nodes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			version, goVersion := "(devel)", ""
			if b, ok := debug.ReadBuildInfo(); ok {
				version, goVersion = b.Main.Version, b.GoVersion
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "drossel %s %s, frames %d to %d\n", version, goVersion, transport.MinVersion, transport.MaxVersion)
			return err
		},
	}
}
