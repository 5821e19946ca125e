package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"
)

// shown asks a node for policies: an edition by number, or what applies for 0.
func shown(ctx context.Context, addr string, number uint64) (p shownPolicies, err error) {
	path := "/v1/policies"
	if number > 0 {
		path += "?number=" + strconv.FormatUint(number, 10)
	}
	err = client{addr}.ask(ctx, http.MethodGet, path, nil, &p)
	return p, err
}

// title says which policies these are.
func (p *shownPolicies) title() string {
	switch {
	case p.Of != nil && p.Of.Withdrawn:
		return fmt.Sprintf("edition %v, withdrawn", p.Of)
	case p.Of != nil:
		return fmt.Sprintf("edition %v of %s, applied at %s", p.Of, p.Of.Name, p.Of.Node)
	case p.Policies == 0:
		return "no policies"
	}
	return fmt.Sprintf("%s %s", p.Source, p.Name)
}

func policyShowCommand() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "show [NUMBER]",
		Short: "Show the policies that a node applies, or an edition",
		Long: `Show prints the text of the policies that the node at --addr applies, or of the
edition of that number. Where they come from is said on the standard error, with
what is wrong with the node's own source, if anything is.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := numberOf(args)
			if err != nil {
				return err
			}
			p, err := shown(cmd.Context(), addr, number)
			if err != nil {
				return err
			}
			notes := cmd.ErrOrStderr()
			fmt.Fprintf(notes, "%s: %s\n", p.Node, p.title())
			if number == 0 && p.Overruled != "" {
				fmt.Fprintf(notes, "its own source, %s, does not count meanwhile\n", p.Overruled)
			}
			if number == 0 && p.Error != "" {
				fmt.Fprintf(notes, "its own source: %s\n", p.Error)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), p.Text)
			return err
		},
	}
	addAddr(cmd, &addr)
	return cmd
}

func numberOf(args []string) (uint64, error) {
	if len(args) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no number of an edition: drossel policy history lists them", args[0])
	}
	return n, nil
}

func policyDiffCommand() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "diff FILE|NUMBER [NUMBER]",
		Short: "Compare policies with those that apply, or two editions",
		Long: `Diff prints what would change if FILE, or the edition of that number, were applied
to what the node at --addr applies now; with two numbers, what has changed from
the first to the second. The exit code is 0 if nothing differs, 1 if something
does, 2 if the node did not answer.`,
		Example: `  drossel policy diff limits.yaml
  drossel policy diff 3 4`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			was, is, err := compared(cmd, addr, args)
			if err != nil {
				return err
			}
			if was.text == is.text {
				return nil
			}
			if _, err := fmt.Fprint(cmd.OutOrStdout(), udiff.Unified(was.name, is.name, was.text, is.text)); err != nil {
				return err
			}
			return &exit{code: exitNo}
		},
	}
	addAddr(cmd, &addr)
	return cmd
}

// namedText is a text with what it is called.
type namedText struct{ name, text string }

// compared returns the two texts that diff is about.
func compared(cmd *cobra.Command, addr string, args []string) (was, is namedText, err error) {
	of := func(number uint64) (namedText, error) {
		p, err := shown(cmd.Context(), addr, number)
		return namedText{p.title(), p.Text}, err
	}
	first, err := numberOf(args[:1])
	if _, missing := os.Stat(args[0]); len(args) == 1 && (err != nil || missing == nil) { // a file, or meant as one
		var text []byte
		if text, err = readText(args[0], cmd.InOrStdin()); err == nil {
			is = namedText{args[0], string(text)}
			was, err = of(0)
		}
		return was, is, err
	}
	if err != nil {
		return was, is, err
	}
	if len(args) == 1 {
		if was, err = of(0); err == nil {
			is, err = of(first)
		}
		return was, is, err
	}
	second, err := numberOf(args[1:])
	if err == nil {
		if was, err = of(first); err == nil {
			is, err = of(second)
		}
	}
	return was, is, err
}
