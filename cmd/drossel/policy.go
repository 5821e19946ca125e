package main

import "github.com/spf13/cobra"

func policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Apply policies to a cluster, and see what applies",
	}
	cmd.AddCommand(policyLiveCommands()...)
	return cmd
}
