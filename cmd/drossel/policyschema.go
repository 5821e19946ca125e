package main

import (
	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/cmd/internal/schema"
)

func policySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print a JSON Schema of the language of policies, for editors",
		Long: `Schema prints a JSON Schema (draft 2020-12) of the language of policies. An editor
with a YAML language server completes and explains fields by it, in a file that says

  # yaml-language-server: $schema=drossel.json

It refuses nothing that a node reads, and finds most of what a node refuses: all of
that is found by drossel policy validate.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(schema.Text())
			return err
		},
	}
}
