package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

const (
	// importBatch is how many keys are sent at once, and importers how many batches are under way.
	importBatch = 1000
	importers   = 4
	// importErrors is how many lines that were refused are shown.
	importErrors = 20
)

func limitsImportCommand() *cobra.Command {
	var addr, policy string
	cmd := &cobra.Command{
		Use:   "import FILE.csv",
		Short: "Give many keys limits of their own",
		Long: `Import reads a file of comma-separated values and sets what each line says. The
first line names the columns:

  policy      of which policy, if --policy does not say it for all
  key         the key; key2, key3 ... further parts, where it has several
  tier        a tier of the policy
  rate burst  a limit of its own; quota in place of rate
  name        of that limit, if the policy has named it
  limits      several limits, as in a policy
  unlimited   true: nothing limits the key
  remove      true: what its policy gives it

Each line has one of tier, rate, quota, limits, unlimited and remove. FILE may be -
for the standard input. Lines that are refused are shown, and the others are set:
importing again changes nothing that is so already.

The exit code is 0 if all are set, 1 if a line was refused, 2 if a node could not
be asked.`,
		Example: "  drossel limits import customers.csv --policy api",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := cmd.InOrStdin()
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return unknown(err)
				}
				defer f.Close()
				in = f
			}
			im := importer{client: client{addr}, name: args[0], policy: policy}
			err := im.run(cmd.Context(), in)
			fmt.Fprintf(cmd.OutOrStdout(), "%d set, %d refused\n", im.set, im.refused)
			slices.SortFunc(im.errors, func(a, b lineError) int { return cmp.Compare(a.line, b.line) })
			for _, e := range im.errors {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s:%d: %s\n", im.name, e.line, e.text)
			}
			if more := im.refused - len(im.errors); more > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "... and %d more\n", more)
			}
			switch {
			case err != nil:
				return err
			case im.refused > 0:
				return fmt.Errorf("%d lines were refused", im.refused)
			case im.unsafe > 0:
				fmt.Fprintf(cmd.ErrOrStderr(), "drossel: warning: %d are only in the memory of one node (no --data-dir, no other node)\n", im.unsafe)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&policy, "policy", "", "`NAME` of the policy of all lines")
	addAddr(cmd, &addr)
	return cmd
}

// importer sets the lines of one file.
type importer struct {
	client       client
	name, policy string

	mu                   sync.Mutex // guards:
	set, refused, unsafe int
	errors               []lineError // the first ones
	failure              error
}

// importLine is one line, as it is sent.
type importLine struct {
	line   int
	Policy string          `json:"policy"`
	Parts  []string        `json:"parts"`
	Limits json.RawMessage `json:"limits"`
}

// run reads all lines and sends them. The error is of the file, or of the node.
func (im *importer) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var lines [importers]chan []importLine // all of one key go the same way
	var sending sync.WaitGroup
	for i := range lines {
		lines[i] = make(chan []importLine)
		sending.Go(func() {
			for batch := range lines[i] {
				if err := im.send(ctx, batch); err != nil {
					im.fail(err)
					cancel()
				}
			}
		})
	}
	err := im.read(ctx, in, lines[:])
	for i := range lines {
		close(lines[i])
	}
	sending.Wait()
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.failure != nil {
		return im.failure
	}
	return err
}

func (im *importer) fail(err error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.failure == nil {
		im.failure = err
	}
}

// refuse notes that a line was refused.
func (im *importer) refuse(line int, text string) {
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.refused++; len(im.errors) < importErrors {
		im.errors = append(im.errors, lineError{line, text})
	}
}

// lineError is what is wrong with a line.
type lineError struct {
	line int
	text string
}

// importColumns are those that there may be beside key2 and so on.
var importColumns = []string{"policy", "key", "tier", "rate", "burst", "quota", "name", "limits", "unlimited", "remove"}

// read sends the lines to batches.
func (im *importer) read(ctx context.Context, in io.Reader, lines []chan []importLine) error {
	rows := csv.NewReader(in)
	rows.TrimLeadingSpace = true
	rows.FieldsPerRecord = -1
	head, err := rows.Read()
	if err != nil {
		return fmt.Errorf("%s: the first line, which names the columns: %w", im.name, err)
	}
	columns, err := im.columns(head)
	if err != nil {
		return fmt.Errorf("%s:1: %w", im.name, err)
	}
	batches := make([][]importLine, len(lines))
	seed := maphash.MakeSeed()
	for {
		row, err := rows.Read()
		last := errors.Is(err, io.EOF)
		line := 0
		switch bad, ok := errors.AsType[*csv.ParseError](err); {
		case last:
		case ok:
			im.refuse(bad.Line, bad.Err.Error())
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", im.name, err)
		default:
			line, _ = rows.FieldPos(0)
			if one, err := im.line(columns, row); err != nil {
				im.refuse(line, err.Error())
			} else {
				one.line = line
				way := maphash.String(seed, fmt.Sprintf("%q", one.Parts)) % uint64(len(lines))
				batches[way] = append(batches[way], one)
			}
		}
		for i, batch := range batches {
			if len(batch) < importBatch && !(last && len(batch) > 0) {
				continue
			}
			select {
			case lines[i] <- batch:
			case <-ctx.Done():
				return ctx.Err()
			}
			batches[i] = nil
		}
		if last {
			return nil
		}
	}
}

// columns checks the names of the columns.
func (im *importer) columns(head []string) ([]string, error) {
	for i, name := range head {
		head[i] = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
	}
	for i, name := range head {
		part := 0
		_, err := fmt.Sscanf(name, "key%d", &part)
		further := err == nil && part >= 2 && keyColumn(part) == name
		switch {
		case further && !slices.Contains(head, keyColumn(part-1)):
			return nil, fmt.Errorf("there is a column %q and none %q: name the parts of the key in their order", name, keyColumn(part-1))
		case !further && !slices.Contains(importColumns, name):
			return nil, fmt.Errorf("column %q is not known: want %s, or key2, key3 and so on", head[i], strings.Join(importColumns, ", "))
		case slices.Contains(head[:i], head[i]):
			return nil, fmt.Errorf("column %q is there twice", head[i])
		}
	}
	switch {
	case im.policy == "" && !slices.Contains(head, "policy"):
		return nil, errors.New("there is no column policy: add it, or say --policy")
	case im.policy != "" && slices.Contains(head, "policy"):
		return nil, errors.New("there is a column policy, and --policy is given: leave one out")
	}
	return head, nil
}

// keyColumn is the column of a part of the key, from 1.
func keyColumn(part int) string {
	if part == 1 {
		return "key"
	}
	return fmt.Sprint("key", part)
}

// line reads one.
func (im *importer) line(columns, row []string) (l importLine, err error) {
	if len(row) != len(columns) {
		return l, fmt.Errorf("%d values, want %d", len(row), len(columns))
	}
	values := make(map[string]string, len(row))
	for i, name := range columns {
		values[name] = row[i]
	}
	l.Policy = im.policy
	if name, ok := values["policy"]; ok {
		l.Policy = name
	}
	l.Parts = []string{}
	for i := 1; ; i++ {
		part, ok := values[keyColumn(i)]
		if !ok {
			break
		}
		l.Parts = append(l.Parts, part)
	}
	said := map[string]bool{}
	for _, name := range []string{"unlimited", "remove"} {
		switch values[name] {
		case "", "false":
		case "true":
			said[name] = true
		default:
			return l, fmt.Errorf("%s is %q, want true, or nothing", name, values[name])
		}
	}
	k := keyLimits{
		tier: values["tier"], rate: values["rate"], burst: values["burst"], quota: values["quota"], name: values["name"],
		limits: values["limits"], unlimited: said["unlimited"],
	}
	if said["remove"] {
		if k != (keyLimits{}) {
			return l, errors.New("remove, and something else: leave one out")
		}
		l.Limits = json.RawMessage("null")
		return l, nil
	}
	l.Limits, err = k.json()
	return l, err
}

// send sets some lines at the node.
func (im *importer) send(ctx context.Context, batch []importLine) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var out struct{ Results []keyStored }
	in := struct {
		Keys []importLine `json:"keys"`
	}{batch}
	if err := im.client.ask(ctx, http.MethodPost, "/v1/limits", in, &out); err != nil {
		return err
	}
	if len(out.Results) != len(batch) {
		return unknown(fmt.Errorf("%s answers about %d of %d keys", im.client.addr, len(out.Results), len(batch)))
	}
	for i, r := range out.Results {
		if r.Error != nil {
			if r.Error.Code == "unavailable" {
				return unknown(fmt.Errorf("%s:%d: %s", im.name, batch[i].line, r.Error.Message))
			}
			im.refuse(batch[i].line, r.Error.Message)
			continue
		}
		im.mu.Lock()
		im.set++
		if !r.Kept && !r.Copied {
			im.unsafe++
		}
		im.mu.Unlock()
	}
	return nil
}

// list turns limits that are written as in a policy into JSON. What is wrong with them the node says.
func (k keyLimits) list() (json.RawMessage, error) {
	var all any
	if err := yaml.Unmarshal([]byte(k.limits), &all); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	text, err := json.Marshal(map[string]any{"limits": all})
	if err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	return text, nil
}
