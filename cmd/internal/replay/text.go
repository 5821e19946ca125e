package replay

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/drossel-dev/drossel/cmd/internal/weblog"
)

const (
	minWidth     = 72
	defaultWidth = 80
	maxWidth     = 160
	maxReason    = 200 // characters shown of what a limiter said
)

// WriteText writes the report for a reader: totals, the keys denied most, a chart over time, and the first lines that
// were not understood. It is plain ASCII but for the keys and lines themselves, of which only what is printable is
// shown. width is that of the terminal in columns; 0 means 80, and it is kept within 72 to 160. The error is that of w.
func (r *Report) WriteText(w io.Writer, width int) error {
	if width <= 0 {
		width = defaultWidth
	}
	width = min(max(width, minWidth), maxWidth)
	var b strings.Builder
	r.totals(&b)
	r.topKeys(&b, width)
	r.chart(&b, width)
	r.badLines(&b, width)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the replay's report: %w", err)
	}
	return nil
}

func (r *Report) totals(b *strings.Builder) {
	row := func(name string, n int64, format string, args ...any) {
		line := fmt.Sprintf("%-8s  %9d  ", name, n) + fmt.Sprintf(format, args...)
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
	span := ""
	if !r.First.IsZero() {
		span = fmt.Sprintf("%s to %s UTC", r.First.Format(time.DateTime), r.Last.Format(time.DateTime))
	}
	row("requests", r.Requests, "%s", span)
	row("admitted", r.Admitted, "%s", share(r.Admitted, r.Requests))
	row("denied", r.Denied, "%s", share(r.Denied, r.Requests))
	row("skipped", r.skipped(), "not understood %d, without a key %d, refused %d", r.Unread, r.NoKey, r.Refused)
	row("keys", r.Keys, "by %s; %d denied at least once", r.by(), r.DeniedKeys)
	row("nodes", int64(r.Nodes), "")
	if r.RefusedWhy != "" {
		fmt.Fprintf(b, "\nfirst refused, %s\n", weblog.Printable(r.RefusedWhy, maxReason))
	}
}

// by names what the key is made of.
func (r *Report) by() string {
	if len(r.By) == 0 {
		return "nothing: one for all"
	}
	return strings.Join(r.By, ", ")
}

func (r *Report) topKeys(b *strings.Builder, width int) {
	if len(r.Top) == 0 {
		return
	}
	const numbers = 36 // columns right of the keys
	fmt.Fprintf(b, "\nkeys denied most")
	if int64(len(r.Top)) < r.DeniedKeys {
		fmt.Fprintf(b, " (%d of %d)", len(r.Top), r.DeniedKeys)
	}
	b.WriteByte('\n')
	rows := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	longest := len("(all)")
	for _, k := range r.Top {
		longest = max(longest, len([]rune(r.shown(k.Key, width-numbers))))
	}
	fmt.Fprintf(rows, "%-*s\tdenied\tadmitted\tdenied of all\t\n", longest, "key")
	for _, k := range r.Top {
		fmt.Fprintf(rows, "%-*s\t%d\t%d\t%s\t\n", longest, r.shown(k.Key, width-numbers), k.Denied, k.Admitted,
			share(k.Denied, k.Denied+k.Admitted))
	}
	rows.Flush() // into memory: can't fail
}

func (r *Report) shown(key string, limit int) string {
	if len(r.By) == 0 {
		return "(all)"
	}
	return weblog.Printable(key, limit)
}

func (r *Report) badLines(b *strings.Builder, width int) {
	if len(r.Bad) == 0 {
		return
	}
	fmt.Fprintf(b, "\nlines not understood")
	if int64(len(r.Bad)) < r.Unread {
		fmt.Fprintf(b, " (the first %d of %d)", len(r.Bad), r.Unread)
	}
	b.WriteByte('\n')
	for _, bad := range r.Bad {
		fmt.Fprintf(b, "  line %d: %s\n    %s\n", bad.Number, bad.Why, weblog.Printable(bad.Excerpt, width-4))
	}
}

// share returns part of whole in per cent, for reading.
func share(part, whole int64) string {
	if whole == 0 {
		return "    - "
	}
	return fmt.Sprintf("%5.1f%%", 100*float64(part)/float64(whole))
}
