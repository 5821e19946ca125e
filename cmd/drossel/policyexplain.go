package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/settings"
)

// explainFlags are what a request to explain is made of.
type explainFlags struct {
	policy, key  string
	attrs, costs []string
	cost         int64
	asJSON       bool
	addr         string
}

func policyExplainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [FILE]",
		Short: "Say which policies are for a request, and why",
		Long: `Explain says of each policy of a file (- is stdin) whether it applies to a request, and
why: by which condition, on which key, whose limits, and what the request takes of
each. Without a file it asks the node at --addr, which also knows what keys have of
their own (drossel limits). It takes nothing. Values of attributes with "hash: true"
are not shown.

  drossel policy explain limits.yaml --attr user=ann --attr route=/v1/things
  drossel policy explain limits.yaml --policy llm --key acme --costs input_tokens=900
  drossel policy explain --policy api --key acme --addr 127.0.0.1:7080

With --policy the request names a policy, and then only that one and those that it is
decided with apply. --key is for policies with one key attribute.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := f.request(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				x, err := f.ask(cmd.Context(), &req)
				if err != nil {
					return err
				}
				return printExplained(cmd.OutOrStdout(), x, f.asJSON)
			}
			text, err := readText(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			set, err := policy.Parse(args[0], text)
			if err != nil {
				return err
			}
			x, err := set.Explain(&req)
			if err != nil {
				return err
			}
			return printExplained(cmd.OutOrStdout(), x, f.asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.attrs, "attr", nil, "an attribute, `NAME=VALUE`; may be repeated")
	flags.StringVar(&f.policy, "policy", "", "the `NAME` of the policy that the request names; default none: all that match apply")
	flags.StringVar(&f.key, "key", "", "the `KEY`, instead of the attribute that it is made of")
	flags.Int64Var(&f.cost, "cost", 1, "tokens that the request takes")
	flags.StringSliceVar(&f.costs, "costs", nil, "costs by unit, `UNIT=COUNT,...`, for limits that count other units")
	flags.BoolVar(&f.asJSON, "json", false, "print as JSON")
	addAddr(cmd, &f.addr)
	// --policy is a file for serve and replay, and --key a list of attributes.
	settings.CommandLineOnly(flags, "policy", "key")
	return cmd
}

func (f *explainFlags) request(cmd *cobra.Command) (req policy.Request, err error) {
	req = policy.Request{Policy: f.policy, Key: f.key, Cost: f.cost}
	if req.Attributes, err = attributesOf(f.attrs); err != nil {
		return req, err
	}
	if req.Costs, err = costsOf(f.costs); err != nil {
		return req, err
	}
	if req.Costs != nil && !given(cmd, "cost") {
		req.Cost = 0
	} else if req.Cost < 1 {
		return req, fmt.Errorf("--cost is %d, want 1 or more: nothing is taken anyway", req.Cost)
	}
	return req, nil
}

// ask has a node explain.
func (f *explainFlags) ask(ctx context.Context, req *policy.Request) (x policy.Explained, err error) {
	in := map[string]any{"attributes": req.Attributes, "costs": req.Costs}
	if req.Cost > 0 {
		in["cost"] = req.Cost
	}
	if req.Policy != "" {
		in["policy"] = req.Policy
	}
	if req.Key != "" {
		in["key"] = req.Key
	}
	err = client{f.addr}.ask(ctx, http.MethodPost, "/v1/policies/explain", in, &x)
	return x, err
}

func printExplained(out io.Writer, x policy.Explained, asJSON bool) error {
	if !asJSON {
		_, err := io.WriteString(out, x.String())
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(x)
}
