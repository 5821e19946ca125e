package main

import (
	"context"
	"fmt"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/node"
)

// policyLiveCommands are those that ask a node.
func policyLiveCommands() []*cobra.Command {
	return []*cobra.Command{
		policyApplyCommand(), policyShowCommand(), policyDiffCommand(), policyHistoryCommand(), policyRollbackCommand(), policyWithdrawCommand(),
	}
}

func policyApplyCommand() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Apply policies to the whole cluster",
		Long: `Apply sends a file of policies to the node at --addr, which checks it, numbers it
and brings it to all nodes. It returns when all that can be reached have it, and
says who has. From then on it goes before what nodes have of their own (--policy,
--policy-etcd, --policy-consul), and nodes that join later have it before they
are ready. Counts survive.

The exit code is 0 if all nodes have it, 1 if the file is wrong, or another that
was applied at the same time wins, 2 if some nodes do not have it yet, or none
answers.`,
		Example: "  drossel policy apply limits.yaml --addr 127.0.0.1:7080",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readText(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			return order(cmd, addr, "/v1/policies/apply", map[string]any{"name": args[0], "text": string(text)})
		},
	}
	addAddr(cmd, &addr)
	return cmd
}

func policyRollbackCommand() *cobra.Command {
	var addr string
	var to uint64
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "Apply the policies of before again",
		Long: `Rollback applies the text of an edition before: of the one before the present one,
or of --to. It becomes a new edition, so that every node takes it over. The exit
codes are those of apply.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return order(cmd, addr, "/v1/policies/rollback", map[string]any{"number": to})
		},
	}
	cmd.Flags().Uint64Var(&to, "to", 0, "`NUMBER` of the edition (default: the one before the present one)")
	addAddr(cmd, &addr)
	return cmd
}

func policyWithdrawCommand() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "withdraw",
		Short: "Have nodes go by their own policies again",
		Long: `Withdraw ends what apply began: every node goes by the policies of its own file or
key again, if it has any. The exit codes are those of apply.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return order(cmd, addr, "/v1/policies/withdraw", struct{}{})
		},
	}
	addAddr(cmd, &addr)
	return cmd
}

// order has a node change the policies, and prints what came of it.
func order(cmd *cobra.Command, addr, path string, in any) error {
	var a node.Applied
	if err := (client{addr}).ask(cmd.Context(), http.MethodPost, path, in, &a); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch {
	case a.Unchanged:
		fmt.Fprintf(out, "edition %v applies already\n", &a.Edition)
	case a.Edition.Withdrawn:
		fmt.Fprintf(out, "edition %v: nodes go by their own policies\n", &a.Edition)
	default:
		fmt.Fprintf(out, "edition %v applies\n", &a.Edition)
	}
	if a.Edition.Back != 0 {
		fmt.Fprintf(out, "it has the text of edition %d\n", a.Edition.Back)
	}
	if !a.Kept && !a.Unchanged {
		fmt.Fprintf(cmd.ErrOrStderr(), "drossel: warning: %s keeps it in memory only (no --data-dir): it is lost if all nodes are down at once\n", a.Edition.Node)
	}
	missing := 0
	rows := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, o := range a.Nodes {
		state := "has it"
		switch {
		case o.Error != "":
			state = "not reached: " + o.Error
		case !o.Has:
			state = "still has " + o.Edition
		}
		if !o.Has {
			missing++
		}
		fmt.Fprintf(rows, "%s\t%s\n", o.Node, state)
	}
	if err := rows.Flush(); err != nil {
		return err
	}
	switch {
	case a.Winner != nil:
		return fmt.Errorf("edition %v of %s was applied at the same time, and wins", a.Winner, a.Winner.Node)
	case missing > 0:
		return unknown(fmt.Errorf("%d of %d nodes do not have it yet; they take it over as soon as they are reached", missing, len(a.Nodes)))
	}
	return nil
}

// editionsKnown is the answer of /v1/policies/history.
type editionsKnown struct {
	Node     string         `json:"node"`
	Editions []node.Edition `json:"editions"`
}

func history(ctx context.Context, addr string) (h editionsKnown, err error) {
	err = client{addr}.ask(ctx, http.MethodGet, "/v1/policies/history", nil, &h)
	return h, err
}

func policyHistoryCommand() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the editions that a node knows",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := history(cmd.Context(), addr)
			if err != nil {
				return err
			}
			if len(h.Editions) == 0 {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s knows of none: nothing was applied\n", h.Node)
				return err
			}
			rows := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(rows, "EDITION\tDIGEST\tAPPLIED\tAT\tFILE")
			for _, e := range h.Editions {
				name := e.Name
				switch {
				case e.Withdrawn:
					name = "withdrawn"
				case e.Back != 0:
					name += fmt.Sprintf(" (back to %d)", e.Back)
				}
				fmt.Fprintf(rows, "%d\t%.8s\t%s\t%s\t%s\n", e.Number, e.Digest, e.Time.Local().Format(time.DateTime), e.Node, name)
			}
			return rows.Flush()
		},
	}
	addAddr(cmd, &addr)
	return cmd
}
