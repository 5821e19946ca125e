package cases

import (
	"fmt"
	"io"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Report is what came of all files. The zero Report is that of none.
type Report struct {
	// Files are those that could be read.
	Files []FileOutcome
	// Problems are what is wrong with the others, or with their policies.
	Problems []policy.Problem
}

// Counts returns how many cases and steps there are, and how many of the steps failed.
func (r *Report) Counts() (cases, steps, failed int) {
	for _, f := range r.Files {
		cases += len(f.Cases)
		for _, c := range f.Cases {
			steps += len(c.Steps)
			for _, o := range c.Steps {
				if len(o.Wrong) > 0 {
					failed++
				}
			}
		}
	}
	return cases, steps, failed
}

// WriteText writes a line for each problem and each step that failed, or each step if all are wanted, and one that counts them. The
// error is that of w.
func (r *Report) WriteText(w io.Writer, all bool) error {
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintln(&b, p)
	}
	for _, f := range r.Files {
		for _, c := range f.Cases {
			for i := range c.Steps {
				o := &c.Steps[i]
				verdict := strings.Join(o.Wrong, "; ")
				if verdict == "" {
					verdict = "ok"
				}
				if all || len(o.Wrong) > 0 {
					fmt.Fprintf(&b, "%s:%d: case %s: step %d: %s%s\n", f.Name, o.Line, c.Name, o.Step, verdict, o.by())
				}
			}
		}
	}
	cases, steps, failed := r.Counts()
	fmt.Fprintf(&b, "%s, %s, %d failed", many(cases, "case"), many(steps, "step"), failed)
	if n := len(r.Problems); n > 0 {
		fmt.Fprintf(&b, ", %s", many(n, "problem"))
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func many(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// by says in brackets what the last decision was.
func (o *Outcome) by() string {
	d := &o.Last
	switch {
	case o.Refused != "" && len(o.Wrong) == 0:
		return " (refused: " + o.Refused + ")"
	case o.Refused != "": // what is wrong says so
		return ""
	}
	text := " (decided by " + d.DecidedBy.String()
	if d.Policy != "" {
		text += ", policy " + d.Policy
	}
	if d.LimitName != "" {
		text += fmt.Sprintf(", limit %s, remaining %d", d.LimitName, d.Remaining)
	}
	switch {
	case d.Never:
		text += ", never"
	case !d.Allowed:
		text += ", retry after " + d.RetryAfter.String()
	case d.Wait() > 0:
		text += ", wait " + d.Wait().String()
	}
	return text + ")"
}
