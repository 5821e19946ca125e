package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func forgetCommand() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "forget NAME",
		Short: "Drop a member that is gone for good",
		Long: `Forget has the node at --addr drop a member from the list whose majority counts,
without asking for a majority: that is for when there is none, because too many
are gone at once. The other members hear of it from that node. A member that is
silent for --forget is dropped without this wherever a majority is left.

Never forget a member that still runs but is cut off: both sides would decide, and
admit up to twice what may be.

The exit code is 0 if it is forgotten, 1 if there is no such member, or it is the
node that was asked, 2 if the node did not answer.`,
		Example: "  drossel members forget n2 --addr 127.0.0.3:7080",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := struct {
				Member string `json:"member"`
			}{args[0]}
			var out struct{ Forgotten string }
			if err := (client{addr}).ask(cmd.Context(), http.MethodPost, "/v1/members/forget", in, &out); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is forgotten\n", out.Forgotten)
			return err
		},
	}
	addAddr(cmd, &addr)
	return cmd
}
