package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/review"
)

func policyValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Say all that is wrong with files of policies",
		Long: `Validate reads files of policies as a node does (- is stdin), and says all that is
wrong with them, each with line and column. Of a file with which nothing is wrong it
says what is in it; limits count those of tiers and overrides.

What is legal and still surely a mistake is said on stderr, as a warning, and does
not change the exit code, which is 0 if all files can be used, 1 if one can not, 2 if
one can't be read.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var unread []error
			invalid := false
			for _, name := range args {
				text, err := readText(name, cmd.InOrStdin())
				if err != nil {
					unread = append(unread, err)
					continue
				}
				valid, err := validate(cmd.OutOrStdout(), cmd.ErrOrStderr(), name, text)
				if err != nil {
					return err
				}
				invalid = invalid || !valid
			}
			if invalid { // which is certain, whatever is in those that could not be read
				return &exit{exitNo, errors.Join(unread...)}
			}
			return errors.Join(unread...)
		},
	}
}

// validate prints what there is to say of one text of policies, and says whether it is valid. The error is that of the writers.
func validate(out, warnings io.Writer, name string, text []byte) (valid bool, err error) {
	set, err := policy.Parse(name, text)
	var bad *policy.ParseError
	if errors.As(err, &bad) {
		for _, p := range bad.Problems {
			if _, err := fmt.Fprintln(out, p); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, p := range review.Doubts(name, text, set) {
		if _, err := fmt.Fprintln(warnings, "warning:", p); err != nil {
			return true, err
		}
	}
	_, err = fmt.Fprintf(out, "%s: %s\n", name, review.Count(set))
	return true, err
}
