package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/bucket/policy"
)

func checkCommand() *cobra.Command {
	var addr, limit, burst string
	var cost int64
	var costs, attrs []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [POLICY [KEY]]",
		Short: "Ask a node for one decision",
		Long: `Check takes a cost from the bucket of a key and says whether it was allowed: the
exit code is 0 if so, 1 if denied, 2 if no node could be asked.

  drossel check api ann                              one token of ann's
  drossel check api ann --cost 0                     look, take nothing
  drossel check --attr user=ann --attr route=/v1/chat    by all policies that match
  drossel check llm --attr tenant=acme --attr model=large --costs input_tokens=800,output_tokens=90
  drossel check jobs nightly --limit 10/min --burst 5    a limit of your own, no policy needed

KEY is for policies with one key attribute; others are given by --attr.`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := map[string]any{"cost": cost}
			switch {
			case len(args) > 0:
				req["policy"] = args[0]
			case len(attrs) == 0:
				return errors.New("name a POLICY, or give --attr NAME=VALUE to be decided by all policies that match")
			}
			byUnit, err := costsOf(costs)
			if err != nil {
				return err
			}
			if byUnit != nil {
				if !given(cmd, "cost") {
					delete(req, "cost")
				}
				req["costs"] = byUnit
			}
			if len(args) == 2 {
				req["key_base64"] = []byte(args[1]) // a shell passes any bytes, JSON text does not
			}
			byName, err := attributesOf(attrs)
			if err != nil {
				return err
			}
			if byName != nil {
				req["attributes"] = byName
			}
			if burst != "" && limit == "" {
				return errors.New("--burst needs --limit")
			}
			if limit != "" {
				l := map[string]any{"rate": limit}
				if burst != "" {
					n, err := policy.ParseCount(burst)
					if err != nil {
						return fmt.Errorf("--burst: %w", err)
					}
					l["burst"] = n
				}
				req["limit"] = l
			}
			var d decision
			if err := (client{addr}).ask(cmd.Context(), http.MethodPost, "/v1/check", req, &d); err != nil {
				return err
			}
			if err := d.print(cmd.OutOrStdout(), asJSON); err != nil {
				return err
			}
			if !d.Allowed {
				return &exit{code: exitNo}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "addr", "127.0.0.1:7080", "`HOST:PORT` of a node's JSON API")
	flags.Int64Var(&cost, "cost", 1, "tokens to take; 0 looks")
	flags.StringSliceVar(&costs, "costs", nil, "costs by unit, `UNIT=COUNT,...`, for limits that count other units")
	flags.StringArrayVar(&attrs, "attr", nil, "an attribute, `NAME=VALUE`; may be repeated")
	flags.StringVar(&limit, "limit", "", "a `RATE` of your own instead of the policy's limits, such as 10/min")
	flags.StringVar(&burst, "burst", "", "the burst of --limit, a `COUNT` (default: the count of the rate)")
	flags.BoolVar(&asJSON, "json", false, "print the decision as JSON")
	return cmd
}

// decision is an answer of the JSON API, kept as it came beside what is printed of it.
type decision struct {
	Allowed    bool   `json:"allowed"`
	Never      bool   `json:"never"`
	Degraded   bool   `json:"degraded"`
	Limit      int64  `json:"limit"`
	Remaining  int64  `json:"remaining"`
	RetryAfter string `json:"retry_after"`
	ResetAfter string `json:"reset_after"`
	LimitName  string `json:"limit_name"`
	Policy     string `json:"policy"`
	Wait       string `json:"wait"`
	Overage    bool   `json:"overage"`
	Shadow     bool   `json:"shadow_denied"`
	DecidedBy  string `json:"decided_by"`
	Node       string `json:"node"`
	whole      json.RawMessage
}

func (d *decision) UnmarshalJSON(text []byte) error {
	type plain decision
	d.whole = append(d.whole[:0], text...)
	return json.Unmarshal(text, (*plain)(d))
}

func (d *decision) print(out io.Writer, asJSON bool) error {
	if asJSON {
		_, err := fmt.Fprintf(out, "%s\n", d.whole)
		return err
	}
	verdict, when := "allowed", ""
	switch {
	case d.Never:
		verdict, when = "denied", ", and no wait can help"
	case !d.Allowed:
		verdict, when = "denied", ", retry after "+d.RetryAfter
	case d.Wait != "":
		verdict = "allowed, go in " + d.Wait
	}
	if d.Overage {
		verdict += ", as overage"
	}
	if d.Shadow {
		verdict += ", a limit in shadow mode would have denied"
	}
	by := d.DecidedBy
	switch by {
	case "exempt", "no_policy", "missing_key":
		_, err := fmt.Fprintf(out, "%s: %s\n", verdict, map[string]string{
			"exempt": "nothing limits this request", "no_policy": "no policy is for this request", "missing_key": "it lacks the key of " + d.Policy,
		}[by])
		return err
	}
	if d.Degraded {
		by += " (degraded: the owner was not reached)"
	}
	_, err := fmt.Fprintf(out, "%s: %d of %d left by limit %s%s, full in %s, decided by %s at %s\n",
		verdict, d.Remaining, d.Limit, d.LimitName, when, d.ResetAfter, by, d.Node)
	return err
}
