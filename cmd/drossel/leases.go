package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/node"
)

func leasesCommand() *cobra.Command {
	var addr string
	var asJSON bool
	var top int
	cmd := &cobra.Command{
		Use:   "leases",
		Short: "Show the hot keys, and who was lent how much of them",
		Long: `Leases asks a node to gather from all members what they lend and what they were
lent, for each key that is asked for often at nodes that do not own it.

  OUT         tokens that are lent now, and not reported as spent
  LENDABLE    the most that may be: a quarter of BURST, nothing of a small one
  RENEWALS/S  requests about leases that the owner answers
  HOLDERS     nodes and what they may have; "denies" is by the owner's word that
              there is nothing for a while

The keys that this shows are what clients sent. An owner knows only ids: if no
holder names a key, its id is shown. It takes a quarter of a second, and two more
if a member is silent.

The exit code is 0 if every member answered, 1 if not, 2 if the node did not
answer.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if top < 1 {
				return fmt.Errorf("--top is %d, want 1 or more", top)
			}
			var s node.LeasesStatus
			if err := (client{addr}).ask(cmd.Context(), http.MethodGet, "/v1/leases", nil, &s); err != nil {
				return err
			}
			s.Limit(top)
			show := printLeases
			if asJSON {
				show = func(out io.Writer, s *node.LeasesStatus) error { return json.NewEncoder(out).Encode(s) }
			}
			if err := show(cmd.OutOrStdout(), &s); err != nil {
				return err
			}
			for _, m := range s.Members {
				if m.Error != "" {
					return &exit{exitNo, fmt.Errorf("%s did not answer, so that something may be missing: %s", m.ID, m.Error)}
				}
			}
			return nil
		},
	}
	addFlags(cmd, &addr, &asJSON)
	cmd.Flags().IntVar(&top, "top", 20, "how many `GROUPS` to list, those with the most tokens out")
	return cmd
}

func printLeases(out io.Writer, s *node.LeasesStatus) error {
	if len(s.Groups) == 0 {
		_, err := fmt.Fprintf(out, "nothing is lent, as %s sees it\n", s.Node)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "POLICY\tKEY\tOWNER\tOUT\tLENDABLE\tBURST\tRENEWALS/S\tHOLDERS")
	for i := range s.Groups {
		g := &s.Groups[i]
		key := printable(g.Key)
		if key == "" && g.Policy == "" {
			key = "id " + g.ID
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%.1f\t%s\n", printable(g.Policy), key, printable(g.Owner), g.Out, g.Lendable, g.Burst,
			g.RenewalRate, holders(g))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s.More > 0 {
		_, err := fmt.Fprintf(out, "and %d more\n", s.More)
		return err
	}
	return nil
}

// holders says who has how much, and who denies.
func holders(g *node.LeasedGroup) string {
	var all []string
	for _, h := range g.Holders {
		text := fmt.Sprintf("%s %d", printable(h.Node), h.Lent)
		if h.DenySecs > 0 {
			wait := time.Duration(h.DenySecs * float64(time.Second)).Round(time.Millisecond)
			text += fmt.Sprintf(" (denies for %v)", wait)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// printable returns what clients chose without what would move the cursor.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
