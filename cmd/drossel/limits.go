package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func limitsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limits",
		Short: "Give single keys limits of their own",
		Long: `Limits reads and writes the limits store: what a key of a policy has in place of
what its policy would give it, a tier of the policy, limits of its own, or none.
It lies at the key's owner, has a copy at another node, and is on disk where nodes
have a --data-dir. A change counts at all nodes at once.

  drossel limits set api acme --tier gold
  drossel limits set api acme --rate 500/s --burst 1000
  drossel limits set llm acme gpt-x --limits '[{name: in, rate: 1M/min}]'
  drossel limits get api acme
  drossel limits rm api acme
  drossel limits import customers.csv

A limit has the name of one of the policy, if the policy has more than one or has
named it, and what is not said of it (its unit, say) is as it is there.`,
	}
	cmd.AddCommand(limitsSetCommand(), limitsGetCommand(), limitsRemoveCommand(), limitsImportCommand())
	return cmd
}

// keyPath is where a key is, of POLICY and the parts of the key.
func keyPath(args []string) string {
	path := "/v1/limits"
	for _, part := range args {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// keyLimits says what a key is to have.
type keyLimits struct {
	tier, rate, burst, quota, name, limits string
	unlimited                              bool
}

// json returns it as the store has it.
func (k keyLimits) json() (json.RawMessage, error) {
	ways := 0
	for _, said := range []bool{k.tier != "", k.unlimited, k.rate != "" || k.quota != "", k.limits != ""} {
		if said {
			ways++
		}
	}
	switch {
	case ways != 1 || k.rate != "" && k.quota != "":
		return nil, errors.New("want one of tier, unlimited, rate, quota and limits")
	case k.rate == "" && k.burst != "" || k.rate == "" && k.quota == "" && k.name != "":
		return nil, errors.New("burst and name belong to a rate or quota: leave them out")
	case k.tier != "":
		return json.Marshal(map[string]string{"tier": k.tier})
	case k.unlimited:
		return json.RawMessage(`{"unlimited":true}`), nil
	case k.limits != "":
		return k.list()
	}
	limit := make(map[string]string)
	for field, value := range map[string]string{"rate": k.rate, "burst": k.burst, "quota": k.quota, "name": k.name} {
		if value != "" {
			limit[field] = value
		}
	}
	return json.Marshal(map[string]any{"limits": []any{limit}})
}

func limitsSetCommand() *cobra.Command {
	var addr string
	var k keyLimits
	cmd := &cobra.Command{
		Use:   "set POLICY KEY...",
		Short: "Give a key a tier, limits of its own, or none",
		Long: `Set gives one key of a policy a tier of the policy (--tier), a limit of its own
(--rate or --quota), several (--limits, as in a policy), or none (--unlimited). The
key has as many parts as the policy has key attributes.

The exit code is 0 if it is set, 1 if it is wrong, 2 if no node could be asked.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := k.json()
			if err != nil {
				return err
			}
			return limitsChange(cmd, addr, http.MethodPut, args, in)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&k.tier, "tier", "", "`NAME` of a tier of the policy")
	flags.StringVar(&k.rate, "rate", "", "`COUNT/PERIOD`, such as 500/s")
	flags.StringVar(&k.burst, "burst", "", "`COUNT` that may come at once (default: the count of the rate)")
	flags.StringVar(&k.quota, "quota", "", "`COUNT/PERIOD` of the calendar, such as 10k/month")
	flags.StringVar(&k.name, "name", "", "`NAME` of the limit, if the policy has named it")
	flags.StringVar(&k.limits, "limits", "", "`LIST` of limits as in a policy, such as '[{name: in, rate: 1M/min}]'")
	flags.BoolVar(&k.unlimited, "unlimited", false, "nothing limits the key")
	addAddr(cmd, &addr)
	return cmd
}

func limitsRemoveCommand() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "rm POLICY KEY...",
		Short: "Have a key get what its policy gives it again",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return limitsChange(cmd, addr, http.MethodDelete, args, nil)
		},
	}
	addAddr(cmd, &addr)
	return cmd
}

// keyStored is what a node says of one key.
type keyStored struct {
	Number       uint64
	Owner        string
	Kept, Copied bool
	Error        *struct{ Code, Message string }
}

// limitsChange has a node change what a key has.
func limitsChange(cmd *cobra.Command, addr, method string, args []string, in any) error {
	var out keyStored
	if err := (client{addr}).ask(cmd.Context(), method, keyPath(args), in, &out); err != nil {
		return err
	}
	done := "set"
	if method == http.MethodDelete {
		done = "removed"
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s is with %s%s\n", done, strings.Join(args, " "), out.Owner, out.safe()); err != nil {
		return err
	}
	if !out.Kept && !out.Copied {
		fmt.Fprintf(cmd.ErrOrStderr(), "drossel: warning: only in the memory of %s (no --data-dir, no other node): it is lost with that\n", out.Owner)
	}
	return nil
}

// safe says where it is beside.
func (k *keyStored) safe() (text string) {
	if k.Kept {
		text += ", on its disk"
	}
	if k.Copied {
		text += ", with a copy at another node"
	}
	return text
}

func limitsGetCommand() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "get POLICY KEY...",
		Short: "Show what a key has of its own",
		Long: `Get prints what a key has of its own, as JSON. The exit code is 1 if it has
nothing, or there is no such policy, 2 if no node could be asked.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var out struct{ Limits json.RawMessage }
			if err := (client{addr}).ask(cmd.Context(), http.MethodGet, keyPath(args), nil, &out); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", out.Limits)
			return err
		},
	}
	addAddr(cmd, &addr)
	return cmd
}
