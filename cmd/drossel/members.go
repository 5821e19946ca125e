package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/node"
)

func membersCommand() *cobra.Command {
	var addr string
	var asJSON bool
	var expect int
	cmd := &cobra.Command{
		Use:   "members",
		Short: "Show who is alive, and whether all see the same ring",
		Long: `Members asks a node whom it knows, and has it ask each of them. The exit code is 0
if every member answered and all have the same ring, 1 if not, 2 if the node did
not answer. With --expect N there must be that many members too, so that a script
can wait for a cluster to be whole.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if expect < 0 {
				return fmt.Errorf("--expect is %d, want 0 or more", expect)
			}
			var members []node.MemberStatus
			if err := (client{addr}).ask(cmd.Context(), http.MethodGet, "/v1/members", nil, &members); err != nil {
				return err
			}
			if asJSON {
				if err := json.NewEncoder(cmd.OutOrStdout()).Encode(members); err != nil {
					return err
				}
			} else if err := printMembers(cmd, members); err != nil {
				return err
			}
			for _, m := range members {
				if m.Status == nil || m.Status.Epoch != members[0].Status.Epoch {
					return &exit{exitNo, fmt.Errorf("not all members answer and have the same ring (yet)")}
				}
			}
			if expect > 0 && len(members) != expect {
				return &exit{exitNo, fmt.Errorf("%d members, want %d", len(members), expect)}
			}
			return nil
		},
	}
	addFlags(cmd, &addr, &asJSON)
	cmd.Flags().IntVar(&expect, "expect", 0, "the `NUMBER` of members there must be; 0 for any")
	return cmd
}

func addFlags(cmd *cobra.Command, addr *string, asJSON *bool) {
	cmd.Flags().StringVar(addr, "addr", "127.0.0.1:7080", "`HOST:PORT` of a node's JSON API")
	cmd.Flags().BoolVar(asJSON, "json", false, "print as JSON")
}

func printMembers(cmd *cobra.Command, members []node.MemberStatus) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MEMBER\tSTATE\tPEER\tLINK\tEPOCH\tPARTITIONS\tGROUPS\tUP")
	for _, m := range members {
		link := m.Link
		if m.Self {
			link = "(asked)"
		}
		if s := m.Status; s != nil {
			up := time.Duration(s.UptimeSecs * float64(time.Second)).Round(time.Second)
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", m.ID, m.State, m.Peer, link, s.Epoch, s.Partitions, s.Groups, up)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\tno answer: %s\n", m.ID, m.State, m.Peer, link, m.Error)
	}
	return w.Flush()
}

func ringCommand() *cobra.Command {
	var addr string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ring",
		Short: "Show who owns how much, and where it would go",
		Long: `Ring asks a node for the placement it goes by: how many partitions each member
owns, and who would own them next if that member were lost.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var r node.RingStatus
			if err := (client{addr}).ask(cmd.Context(), http.MethodGet, "/v1/ring", nil, &r); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "epoch %s as %s sees it: %s\n\n", r.Epoch, r.Node, r.Parameters)
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "MEMBER\tPARTITIONS\tSHARE\tIF LOST")
			for _, m := range r.Members {
				var next []string
				for _, id := range slices.Sorted(maps.Keys(m.FailsOver)) {
					next = append(next, fmt.Sprintf("%d to %s", m.FailsOver[id], id))
				}
				fmt.Fprintf(w, "%s\t%d\t%.1f %%\t%s\n", m.ID, m.Partitions, 100*m.Share, strings.Join(next, ", "))
			}
			return w.Flush()
		},
	}
	addFlags(cmd, &addr, &asJSON)
	return cmd
}
