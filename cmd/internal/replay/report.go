package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/cmd/internal/weblog"
)

// defaultTop is the length of the list of denied keys.
const defaultTop = 10

// Report is what became of a log.
type Report struct {
	// Requests is the number of entries that were decided: Admitted and Denied together.
	Requests, Admitted, Denied int64
	// Unread counts lines of the log that could not be understood, NoKey entries that lack a key attribute, and Refused
	// entries that the limiter found invalid. None of them was decided.
	Unread, NoKey, Refused int64
	// RefusedWhy is what the limiter said of the first refused entry, with its line; empty if there is none.
	RefusedWhy string
	// Keys is the number of different keys, DeniedKeys of those denied at least once.
	Keys, DeniedKeys int64
	// Nodes is the number of nodes that decided.
	Nodes int
	// By are the attributes that made the key.
	By []string
	// Top are the keys denied most, by denials and then by key. Each was denied at least once.
	Top []KeyCount
	// Bad are the first lines that could not be understood.
	Bad []weblog.BadLine
	// First and Last are the times of the log's first and last entry; zero if it has none.
	First, Last time.Time
	// Timeline counts the decisions over time.
	Timeline Timeline
}

// KeyCount is what one key got.
type KeyCount struct {
	// Key is the key as policy.Policy.KeyText writes it; empty if the policy has no key attributes.
	Key string `json:"key"`
	// Admitted and Denied count its requests.
	Admitted int64 `json:"admitted"`
	Denied   int64 `json:"denied"`
}

func (r *Report) skipped() int64 { return r.Unread + r.NoKey + r.Refused }

// WriteJSON writes the report as one JSON object on a line of its own. "skipped" counts all entries and lines that were
// not decided. The error is that of w.
func (r *Report) WriteJSON(w io.Writer) error {
	top := r.Top
	if top == nil {
		top = []KeyCount{} // a list, never null
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		Requests   int64      `json:"requests"`
		Admitted   int64      `json:"admitted"`
		Denied     int64      `json:"denied"`
		Skipped    int64      `json:"skipped"`
		Keys       int64      `json:"keys"`
		DeniedKeys int64      `json:"denied_keys"`
		Nodes      int        `json:"nodes"`
		Top        []KeyCount `json:"top"`
	}{r.Requests, r.Admitted, r.Denied, r.skipped(), r.Keys, r.DeniedKeys, r.Nodes, top})
	if err != nil {
		return fmt.Errorf("write the replay's report: %w", err)
	}
	return nil
}

// tally is a report in the making.
type tally struct {
	opt  Options
	r    Report
	keys map[string]*KeyCount
}

func newTally(web *weblog.Log, opt Options) *tally {
	t := &tally{opt: opt, keys: map[string]*KeyCount{}}
	t.r = Report{
		Unread: int64(web.Skipped), Nodes: max(opt.Nodes, 1), By: slices.Clone(opt.Key), Bad: slices.Clone(web.Bad),
	}
	if n := len(web.Entries); n > 0 {
		t.r.First, t.r.Last = web.Entries[0].At, web.Entries[n-1].At
		t.r.Timeline = newTimeline(t.r.First, t.r.Last)
	}
	return t
}

func (t *tally) decided(at time.Time, key string, allowed bool) {
	count := t.keys[key]
	if count == nil {
		key = strings.Clone(key) // not a piece of a whole line
		count = &KeyCount{Key: key}
		t.keys[key] = count
	}
	slot := t.r.Timeline.slot(at)
	t.r.Requests++
	if allowed {
		t.r.Admitted++
		count.Admitted++
		slot.Admitted++
		return
	}
	t.r.Denied++
	count.Denied++
	slot.Denied++
}

func (t *tally) refused(e *weblog.Entry, err error) {
	t.r.Refused++
	if t.r.RefusedWhy == "" {
		t.r.RefusedWhy = fmt.Sprintf("line %d: %v", e.Line, err)
	}
}

func (t *tally) report() *Report {
	for _, count := range t.keys {
		if count.Denied > 0 {
			t.r.Top = append(t.r.Top, *count)
		}
	}
	t.r.Keys, t.r.DeniedKeys = int64(len(t.keys)), int64(len(t.r.Top))
	slices.SortFunc(t.r.Top, func(a, b KeyCount) int {
		return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(a.Key, b.Key))
	})
	top := t.opt.Top
	if top <= 0 {
		top = defaultTop
	}
	t.r.Top = t.r.Top[:min(top, len(t.r.Top))]
	return &t.r
}
