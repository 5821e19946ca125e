package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
		Short: "Show who counts, who is alive, and what they wait for",
		Long: `Members asks a node for its list of members, those whose majority counts, and for
guests, and has it ask each of them.

  STATE       joining, active, leaving; guest if it is not on the list, silent if it
              was not heard for as long as authority lasts, lost if it is given up
  HEARD       how long ago the node that was asked heard it
  ACKS        how long ago it has acknowledged that node
  AUTHORITY   how long it may decide without hearing from anybody
  PARTITIONS  how many it owns, COPIES of how many of others it keeps a copy

Below, a line for each that waits for something says what for, and what to do.

The exit code is 0 if every member answered, all have the same list and none waits
for anything, 1 if not, 2 if the node did not answer. With --expect N there must be
that many members too, each acknowledging the others, and every partition must have
an owner, so that a script can wait for a cluster to be whole.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if expect < 0 {
				return fmt.Errorf("--expect is %d, want 0 or more", expect)
			}
			var members []node.MemberStatus
			if err := (client{addr}).ask(cmd.Context(), http.MethodGet, "/v1/members", nil, &members); err != nil {
				return err
			}
			show := printMembers
			if asJSON {
				show = func(out io.Writer, members []node.MemberStatus) error { return json.NewEncoder(out).Encode(members) }
			}
			if err := show(cmd.OutOrStdout(), members); err != nil {
				return err
			}
			if wrong := unwell(members, expect); wrong != "" {
				return &exit{exitNo, fmt.Errorf("%s", wrong)}
			}
			return nil
		},
	}
	addFlags(cmd, &addr, &asJSON)
	cmd.Flags().IntVar(&expect, "expect", 0, "the `NUMBER` of members there must be; 0 for any")
	cmd.AddCommand(forgetCommand())
	return cmd
}

func addFlags(cmd *cobra.Command, addr *string, asJSON *bool) {
	addAddr(cmd, addr)
	cmd.Flags().BoolVar(asJSON, "json", false, "print as JSON")
}

func addAddr(cmd *cobra.Command, addr *string) {
	cmd.Flags().StringVar(addr, "addr", "127.0.0.1:7080", "`HOST:PORT` of a node's JSON API")
}

// unwell says why a cluster is not as it should be; empty if it is.
func unwell(members []node.MemberStatus, expect int) string {
	if len(members) == 0 {
		return "the node has not started yet"
	}
	owned := 0
	for _, m := range members {
		s := m.Status
		switch {
		case !m.Listed:
			return fmt.Sprintf("%s is not a member (yet)", m.ID)
		case s == nil:
			return fmt.Sprintf("%s does not answer", m.ID)
		case s.Waits != "":
			return fmt.Sprintf("%s %s", m.ID, s.Waits)
		case members[0].Status == nil || s.Epoch != members[0].Status.Epoch:
			return "not all members have the same list (yet)"
		case expect > 0 && !m.Acknowledges:
			return fmt.Sprintf("%s does not acknowledge the node that was asked (yet)", m.ID)
		}
		owned += s.Partitions
	}
	switch all := members[0].Status.RingPartitions; {
	case expect > 0 && len(members) != expect:
		return fmt.Sprintf("%d members, want %d", len(members), expect)
	case expect > 0 && owned != all:
		return fmt.Sprintf("%d of %d partitions have an owner (yet)", owned, all)
	}
	return ""
}

func printMembers(out io.Writer, members []node.MemberStatus) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MEMBER\tSTATE\tPEER\tLINK\tHEARD\tACKS\tAUTHORITY\tPARTITIONS\tCOPIES\tGROUPS\tEPOCH\tINCARNATION\tUP\tPOLICIES")
	var warnings, mute []string
	told := false // the node that was asked says itself who is silent
	for _, m := range members {
		link := m.Link
		if m.Self {
			link = "(asked)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t", m.ID, m.State, dash(m.Peer), dash(link), span(m.HeardSecs),
			span(m.AcknowledgedSecs))
		s := m.Status
		if s == nil {
			fmt.Fprintf(w, "no answer: %s\n", m.Error)
			if m.Listed {
				mute = append(mute, fmt.Sprintf("%s is on the list and does not answer: start it; it is dropped when it has been "+
					"silent for --forget, and `drossel members forget %s` does so at once", m.ID, m.ID))
			}
			continue
		}
		up := time.Duration(s.UptimeSecs * float64(time.Second)).Round(time.Second)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%d\t%s\t%s\n", span(s.AuthoritySecs), s.Partitions, s.Copies, s.Groups, s.Epoch,
			s.Incarnation, up, s.Policies)
		if s.Waits != "" {
			warnings = append(warnings, m.ID+" "+s.Waits)
			told = told || m.Self
		}
	}
	if !told {
		warnings = append(warnings, mute...)
	}
	if err := w.Flush(); err != nil || warnings == nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nwarning: %s\n", strings.Join(warnings, "\nwarning: "))
	return err
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// span is a time in seconds as a table shows it.
func span(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	return rounded(*seconds).String()
}

// rounded returns a time in seconds to three digits or so.
func rounded(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}
