package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/replay"
	"github.com/drossel-dev/drossel/cmd/internal/weblog"
)

// limiterFunc is a Limiter of one function.
type limiterFunc func(context.Context, time.Time, policy.Request) (policy.Decision, error)

func (f limiterFunc) Check(ctx context.Context, at time.Time, req policy.Request) (policy.Decision, error) {
	return f(ctx, at, req)
}

func admit(context.Context, time.Time, policy.Request) (policy.Decision, error) {
	return policy.Decision{Allowed: true}, nil
}

func smallLog(t *testing.T) *weblog.Log {
	t.Helper()
	web, err := weblog.ReadFile(small, nil)
	if err != nil {
		t.Fatal(err)
	}
	return web
}

func tenPerMinute(by string) *buckets {
	return newBuckets(bucket.Limit{Count: 10, Per: time.Minute, Burst: 5}, by)
}

func TestRunAsksInOrder(t *testing.T) {
	web := smallLog(t)
	var times []time.Time
	lim := limiterFunc(func(_ context.Context, at time.Time, req policy.Request) (policy.Decision, error) {
		e := web.Entries[len(times)]
		want := policy.Request{Policy: "api", Attributes: e.Attributes()}
		if diff := godiff.Diff(want, req); diff != "" || !at.Equal(e.At) {
			t.Errorf("line %d at %v, checked at %v (-want +got):\n%s", e.Line, e.At, at, diff)
		}
		times = append(times, at)
		return policy.Decision{Allowed: true}, nil
	})
	var progress []int
	r, err := replay.Run(t.Context(), web, lim, replay.Options{Policy: "api", Progress: func(done, total int) {
		if total != 53 {
			t.Errorf("progress of %d, want of 53", total)
		}
		progress = append(progress, done)
	}})
	if err != nil {
		t.Fatal(err)
	}
	sorted := slices.IsSortedFunc(times, time.Time.Compare)
	if len(times) != 53 || !sorted || r.Requests != 53 || r.Keys != 1 || r.Nodes != 1 {
		t.Errorf("%d checks, report %+v; want 53 in order, one key, one node", len(times), r)
	}
	if len(progress) != 53 || !slices.IsSorted(progress) || progress[52] != 53 {
		t.Errorf("progress %v, want 1 to 53", progress)
	}
}

func TestRunWithoutKey(t *testing.T) {
	r, err := replay.Run(t.Context(), smallLog(t), limiterFunc(admit), replay.Options{Key: []string{"user", "path"}})
	if err != nil {
		t.Fatal(err)
	}
	if r.NoKey != 26 || r.Requests != 27 || r.Admitted != 27 || r.Unread != 6 {
		t.Errorf("%d without a key, %d requests, %d unread; want 26, 27, 6", r.NoKey, r.Requests, r.Unread)
	}
}

func TestRunKeysStayApart(t *testing.T) {
	var lines strings.Builder
	for _, agent := range []string{`a", "b`, `a, b`, `a`, `a `, `"a"`} {
		agent = strings.ReplaceAll(agent, `"`, `\"`)
		for _, user := range []string{"u", "u, a"} {
			fmt.Fprintf(&lines, `192.0.2.1 - %s [01/Mar/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "%s"`+"\n", user, agent)
		}
	}
	web, err := weblog.Read(strings.NewReader(lines.String()))
	if err != nil || len(web.Entries) != 10 {
		t.Fatalf("%v, %d entries", err, len(web.Entries))
	}
	deny := limiterFunc(func(context.Context, time.Time, policy.Request) (policy.Decision, error) {
		return policy.Decision{}, nil
	})
	r, err := replay.Run(t.Context(), web, deny, replay.Options{Key: []string{"user", "agent"}, Top: 3})
	if err != nil {
		t.Fatal(err)
	}
	if r.Keys != 10 || r.DeniedKeys != 10 {
		t.Errorf("%d keys and %d denied, want 10 and 10", r.Keys, r.DeniedKeys)
	}
	want := []replay.KeyCount{{`u, a|"\"a\""`, 0, 1}, {`u, a|"a\", \"b"`, 0, 1}, {`u, a|a`, 0, 1}}
	if diff := godiff.Diff(want, r.Top); diff != "" {
		t.Errorf("top (-want +got):\n%s", diff)
	}
}

func TestRunUnknownAttribute(t *testing.T) {
	r, err := replay.Run(t.Context(), smallLog(t), limiterFunc(admit), replay.Options{Key: []string{"ip", "tenant"}})
	if r != nil || !errors.Is(err, replay.ErrAttribute) || !strings.Contains(err.Error(), `"tenant"`) ||
		!strings.Contains(err.Error(), "ip, method") {
		t.Errorf("Run = %v, %v; want ErrAttribute that names tenant and what there is", r, err)
	}
}

func TestRunRefused(t *testing.T) {
	lim := limiterFunc(func(_ context.Context, _ time.Time, req policy.Request) (policy.Decision, error) {
		if req.Attributes["user"] == "bob" {
			return policy.Decision{}, fmt.Errorf("%w: no \x1bbobs", policy.ErrInvalid)
		}
		return policy.Decision{Allowed: true}, nil
	})
	r, err := replay.Run(t.Context(), smallLog(t), lim, replay.Options{Key: []string{"ip"}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Refused != 16 || r.Requests != 37 || r.Keys != 7 {
		t.Errorf("%d refused, %d requests, %d keys; want 16, 37, 7", r.Refused, r.Requests, r.Keys)
	}
	var b strings.Builder
	if err := r.WriteText(&b, 80); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "first refused, line 21: invalid request: no ?bobs\n") {
		t.Errorf("the text does not say why:\n%s", b.String())
	}
}

func TestRunStops(t *testing.T) {
	broken := errors.New("node is gone")
	for name, test := range map[string]struct {
		fail func(context.CancelFunc) error
		want error
		text string
	}{
		"limiter":  {func(context.CancelFunc) error { return broken }, broken, "after 9 of 53 entries: line "},
		"canceled": {func(cancel context.CancelFunc) error { cancel(); return nil }, context.Canceled, "after 10 of 53"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			checks := 0
			lim := limiterFunc(func(context.Context, time.Time, policy.Request) (policy.Decision, error) {
				if checks++; checks == 10 {
					return policy.Decision{}, test.fail(cancel)
				}
				return policy.Decision{Allowed: true}, nil
			})
			r, err := replay.Run(ctx, smallLog(t), lim, replay.Options{Key: []string{"ip"}})
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v, want %v saying %q", err, test.want, test.text)
			}
			if r == nil || r.Admitted != 9 || checks != 10 {
				t.Errorf("report %+v after %d checks, want 9 admitted after 10", r, checks)
			}
		})
	}
}

func TestWriteJSON(t *testing.T) {
	r, err := replay.Run(t.Context(), smallLog(t), tenPerMinute("user"), replay.Options{Key: []string{"user"}, Nodes: 3})
	if err != nil {
		t.Fatal(err)
	}
	const some = `{"requests":27,"admitted":22,"denied":5,"skipped":32,"keys":3,"denied_keys":1,"nodes":3,` +
		`"top":[{"key":"bob","admitted":11,"denied":5}]}` + "\n"
	empty, err := replay.Run(t.Context(), &weblog.Log{}, tenPerMinute("ip"), replay.Options{Key: []string{"ip"}})
	if err != nil {
		t.Fatal(err)
	}
	const none = `{"requests":0,"admitted":0,"denied":0,"skipped":0,"keys":0,"denied_keys":0,"nodes":1,"top":[]}` + "\n"
	for want, r := range map[string]*replay.Report{some: r, none: empty} {
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil || b.String() != want {
			t.Errorf("WriteJSON gives %v and\n%swant\n%s", err, b.String(), want)
		}
	}
}

func TestWriteText(t *testing.T) {
	want, err := os.ReadFile("testdata/small.txt")
	if err != nil {
		t.Fatal(err)
	}
	r, err := replay.Run(t.Context(), smallLog(t), tenPerMinute("ip"), replay.Options{Key: []string{"ip"}, Top: 1})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.WriteText(&b, 0); err != nil {
		t.Fatal(err)
	}
	if diff := godiff.Diff(string(want), b.String()); diff != "" {
		t.Errorf("text differs from testdata/small.txt (-want +got):\n%s", diff)
	}
	for _, width := range []int{-1, 1, 72, 80, 120, 160, 1000} {
		b.Reset()
		if err := r.WriteText(&b, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := len(strings.TrimRight(line, "\n")); n > max(72, min(width, 160)) && width > 0 || n > 160 {
				t.Errorf("width %d: %d columns in %q", width, n, line)
			}
		}
	}
}

func TestWriteTextOfNothing(t *testing.T) {
	r, err := replay.Run(t.Context(), &weblog.Log{}, limiterFunc(admit), replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.WriteText(&b, 80); err != nil {
		t.Fatal(err)
	}
	const want = `requests          0
admitted          0      -
denied            0      -
skipped           0  not understood 0, without a key 0, refused 0
keys              0  by nothing: one for all; 0 denied at least once
nodes             1
`
	if b.String() != want {
		t.Errorf("text is\n%s\nwant\n%s", b.String(), want)
	}
}

// TestWriteTextIsSafe: what clients chose can't move the reader's cursor.
func TestWriteTextIsSafe(t *testing.T) {
	line := `192.0.2.1 - - [01/Mar/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "\x1b[2J` + strings.Repeat("long", 100)
	web, err := weblog.Read(strings.NewReader(line + "\"\n\x1b]0;title\x07\n"))
	if err != nil {
		t.Fatal(err)
	}
	deny := limiterFunc(func(context.Context, time.Time, policy.Request) (policy.Decision, error) {
		return policy.Decision{}, nil
	})
	r, err := replay.Run(t.Context(), web, deny, replay.Options{Key: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.WriteText(&b, 80); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07") {
		t.Errorf("text has control characters: %q", b.String())
	}
	for _, shown := range []string{`[2Jlong`, "?]0;title?"} {
		if !strings.Contains(b.String(), shown) {
			t.Errorf("text lacks %q: %q", shown, b.String())
		}
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestWritePassesErrorsOn(t *testing.T) {
	r, err := replay.Run(t.Context(), &weblog.Log{}, limiterFunc(admit), replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := brokenWriter{errors.New("pipe closed")}
	if err := r.WriteJSON(w); !errors.Is(err, w.err) {
		t.Errorf("WriteJSON: error %v, want that of the writer", err)
	}
	if err := r.WriteText(w, 80); !errors.Is(err, w.err) {
		t.Errorf("WriteText: error %v, want that of the writer", err)
	}
}
