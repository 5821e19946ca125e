package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Write, test and apply policies, and see what applies",
		Long: `Policies say what is limited, for whom, and by how much: a YAML file that a node is
given by --policy, or a cluster by drossel policy apply. These need no node:

  drossel policy init --for api           begin one, and tests of it
  drossel policy validate limits.yaml     say all that is wrong with it
  drossel policy explain limits.yaml --attr user=ann --attr route=/v1/things
                                          say which policies are for a request, and why
  drossel policy test limits_test.yaml    run test cases, in virtual time
  drossel policy schema > drossel.json    have an editor complete and check it
  drossel policy import envoy config.yaml > limits.yaml
                                          begin with what Envoy's service is configured with`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := ""
			cmd.SuggestionsMinimumDistance = 2
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = ": did you mean " + strings.Join(near, " or ") + "?"
			}
			return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(policyInitCommand(), policyValidateCommand(), policyExplainCommand(), policyTestCommand(), policySchemaCommand(),
		policyImportCommand())
	cmd.AddCommand(policyLiveCommands()...)
	return cmd
}
