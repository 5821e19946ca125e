package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/drossel-dev/drossel/node"
)

func ringCommand() *cobra.Command {
	var addr string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ring",
		Short: "Show who owns how much, where it would go, and what has moved",
		Long: `Ring asks a node who owns how many partitions, as far as it knows:

  OWNS    partitions that the member holds
  SHOULD  how many it should hold; where that differs some are on their way
  COPIES  of how many of them the node that was asked keeps a copy
  IF LOST who would own them next if that member were lost

Below it says what the node itself has, and what has come to it and gone since it
started. Drossel ring partitions lists each partition.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var r node.RingStatus
			if err := (client{addr}).ask(cmd.Context(), http.MethodGet, "/v1/ring", nil, &r); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return printRing(cmd.OutOrStdout(), &r)
		},
	}
	addFlags(cmd, &addr, &asJSON)
	cmd.AddCommand(partitionsCommand())
	return cmd
}

func printRing(out io.Writer, r *node.RingStatus) error {
	fmt.Fprintf(out, "epoch %s as %s sees it: %s\n\n", r.Epoch, r.Node, r.Parameters)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MEMBER\tOWNS\tSHARE\tSHOULD\tCOPIES\tIF LOST")
	for _, m := range r.Members {
		var next []string
		for _, id := range slices.Sorted(maps.Keys(m.FailsOver)) {
			next = append(next, fmt.Sprintf("%d to %s", m.FailsOver[id], id))
		}
		fmt.Fprintf(w, "%s\t%d\t%.1f %%\t%d\t%d\t%s\n", m.ID, m.Partitions, 100*m.Share, m.Placed, m.Copies,
			strings.Join(next, ", "))
	}
	if err := w.Flush(); err != nil || r.Here == nil || r.Moves == nil {
		return err
	}
	h, m := r.Here, r.Moves
	fmt.Fprintf(out, "\n%s decides %d, waits for others to acknowledge %d, is giving away %d, and keeps copies of %d.\n"+
		"%d have no copy elsewhere, and %d no owner that it knows of. Terms are %d to %d.\n",
		r.Node, h.Open, h.Claimed, h.Frozen, h.Copies, h.Uncopied, h.Unclaimed, h.LowestTerm, h.HighestTerm)
	fmt.Fprintf(out, "%d were given away (median %v, at most %v), %d came, %d were taken over, %d of them without a copy.\n",
		m.Given, rounded(m.MedianSecs), rounded(m.MaxSecs), m.Received, m.Minted, m.Blank)
	if len(m.Last) == 0 {
		return nil
	}
	fmt.Fprint(out, "\nthe last ones:\n")
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i := range m.Last {
		fmt.Fprintf(w, "%d\t%s\n", m.Last[i].Partition, moved(&m.Last[i]))
	}
	return w.Flush()
}

// moved says how a partition came or went, and when.
func moved(m *node.PartitionMove) string {
	text := m.How
	switch {
	case m.From == "":
	case m.How == "given":
		text += " to " + m.From
	default:
		text += " from " + m.From
	}
	return fmt.Sprintf("%s %v ago", text, rounded(m.AgoSecs))
}

func partitionsCommand() *cobra.Command {
	var addr string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "partitions",
		Short: "List each partition",
		Long: `Partitions asks a node for each partition, as far as it knows:

  HERE    what the node has of it: open (it decides), claimed (others have yet to
          acknowledge that), frozen (on its way out), copy, or nothing
  OWNER   who has claimed it, with TERM, which rises with every move
  SHOULD  who should own it
  COPY    who keeps a copy, as far as the node knows: of its own, and itself
  LAST    when it last came to the node, or went`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []node.PartitionStatus
			if err := (client{addr}).ask(cmd.Context(), http.MethodGet, "/v1/ring/partitions", nil, &all); err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
			}
			return printPartitions(cmd.OutOrStdout(), all)
		},
	}
	addFlags(cmd, &addr, &asJSON)
	return cmd
}

func printPartitions(out io.Writer, all []node.PartitionStatus) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PARTITION\tHERE\tOWNER\tTERM\tSHOULD\tCOPY\tLAST")
	for i := range all {
		p := &all[i]
		last := "-"
		if p.Last != nil {
			last = moved(p.Last)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", p.Partition, dash(p.Here), dash(p.Owner), p.Term, dash(p.Placed),
			dash(p.CopyAt), last)
	}
	return w.Flush()
}
