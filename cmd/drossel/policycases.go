package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/cases"
)

func policyTestCommand() *cobra.Command {
	var verbose, asJSON bool
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run test cases of policies, in virtual time",
		Long: `Test runs the cases in YAML files (- is stdin) against the policies that they name, and
prints a line for each step that is not as expected, and one that counts. Each case
begins with nothing taken, and is decided by a node that runs in this process, whose
clock says what the case says: a month takes no time.

  policies: limits.yaml              # beside this file
  start: 2026-03-01T00:00:00Z        # optional
  cases:
    - name: a free user gets five a second
      attributes: {user: ann, tier: free, route: /v1/things}
      steps:
        - {times: 5, expect: {allowed: true}}
        - {expect: {allowed: false, limit: api, retry_after: 200ms}}
        - {at: 1s, times: 8, expect: {allowed: 5, remaining: 0}}

A step has at (a time since the start, or an instant; by default that of the step
before), policy, key, attributes, cost (0 looks), costs, times (all at once, or one
every so often), and expect: allowed (true, false, or how many of the times), policy,
limit, remaining, retry_after, reset_after, wait, never, overage, shadow_denied,
decided_by, of the last of the times; or refused, with a part of the reason.

The exit code is 0 if all is as expected, 1 if not or if a file is invalid, 2 if one
can't be read.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var report cases.Report
			var unread []error
			for _, name := range args {
				if err := runCases(cmd, name, &report); err != nil {
					unread = append(unread, err)
				}
			}
			print := func() error { return report.WriteText(cmd.OutOrStdout(), verbose) }
			if asJSON {
				print = func() error { return report.WriteJSON(cmd.OutOrStdout()) }
			}
			if err := print(); err != nil {
				return err
			}
			if _, _, failed := report.Counts(); failed > 0 || len(report.Problems) > 0 {
				return &exit{exitNo, errors.Join(unread...)}
			}
			return errors.Join(unread...)
		},
	}
	cmd.Flags().BoolVar(&verbose, "verbose", false, "print the steps that are as expected too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON, with all steps")
	return cmd
}

// runCases runs the cases of one file into a report. The error says that something could not be read, or run.
func runCases(cmd *cobra.Command, name string, report *cases.Report) error {
	text, err := readText(name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	f, err := cases.Parse(name, text)
	var bad *cases.ParseError
	if errors.As(err, &bad) {
		report.Problems = append(report.Problems, bad.Problems...)
		return nil
	}
	if err != nil {
		return err
	}
	if text, err = readFile(f.PoliciesFile()); err != nil {
		return unknown(fmt.Errorf("%s:%d:%d: policies: %w", name, f.At.Line, f.At.Column, err))
	}
	set, err := policy.Parse(f.PoliciesFile(), text)
	var wrong *policy.ParseError
	if errors.As(err, &wrong) {
		report.Problems = append(report.Problems, wrong.Problems...)
		return nil
	}
	if err != nil {
		return err
	}
	outcome, err := cases.Run(cmd.Context(), set, f)
	report.Files = append(report.Files, outcome)
	if err != nil {
		return unknown(err)
	}
	return nil
}
