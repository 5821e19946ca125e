package gossip

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestLinesOfMemberlist(t *testing.T) {
	for _, test := range []struct {
		line  string
		level slog.Level
		text  string
	}{
		{"[DEBUG] memberlist: Failed UDP ping: b/1 (timeout reached)\n",
			slog.LevelDebug, "Failed UDP ping: b/1 (timeout reached)"},
		{"[INFO] memberlist: Suspect b/1 has failed, no acks received\n",
			slog.LevelInfo, "Suspect b/1 has failed, no acks received"},
		{"[WARN] memberlist: Refuting a suspect message (from: b/1)\n",
			slog.LevelWarn, "Refuting a suspect message (from: b/1)"},
		{"[ERR] memberlist: Received invalid msgType (9)\n", slog.LevelError, "Received invalid msgType (9)"},
		{"[ERROR] memberlist: Failed to encrypt local state: x\n", slog.LevelError, "Failed to encrypt local state: x"},
		{"[ERR] Failed to shutdown transport: x\n", slog.LevelError, "Failed to shutdown transport: x"},
		{"[ERR] memberlist: Failed to send UDP ping: x\n", slog.LevelDebug, "Failed to send UDP ping: x"},
		{"[ERR] memberlist: Failed fallback TCP ping: x\n", slog.LevelDebug, "Failed fallback TCP ping: x"},
		{"[ERR] memberlist: Push/Pull with b/1 failed: x\n", slog.LevelWarn, "Push/Pull with b/1 failed: x"},
		{"Err: Could not set the deadline: x\n", slog.LevelWarn, "Err: Could not set the deadline: x"},
		{"[ODD] line", slog.LevelWarn, "[ODD] line"},
		{"", slog.LevelWarn, ""},
	} {
		if level, text := parseLine(test.line); level != test.level || text != test.text {
			t.Errorf("%q: got %s %q, want %s %q", test.line, level, text, test.level, test.text)
		}
	}
}

func TestForeignLabel(t *testing.T) {
	label, from, ok := foreignLabel(`discarding stream with unacceptable label "o\"t\nher#1": from=10.0.0.1:5`)
	if label != "o\"t\nher#1" || from != "10.0.0.1:5" || !ok {
		t.Errorf("got %q, %q, %v", label, from, ok)
	}
	for _, text := range []string{"",
		"discarding stream", `with unacceptable label x: from=y`, `with unacceptable label "x`} {
		if label, from, ok := foreignLabel(text); ok {
			t.Errorf("%q: got %q, %q, want none", text, label, from)
		}
	}
}

// gate is a log that stands still until it is opened.
type gate struct {
	record
	entered, open chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	select {
	case g.entered <- struct{}{}:
	default:
	}
	<-g.open
	return g.record.Write(p)
}

func TestSlowLogHoldsUpNobody(t *testing.T) {
	log := &gate{record: record{grown: make(chan struct{}, 1)}, entered: make(chan struct{}, 1), open: make(chan struct{})}
	j := newJournal(slog.New(slog.NewTextHandler(log, nil)), "test#")
	write := func(text string) {
		if n, err := j.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("Write(%q) = %d, %v", text, n, err)
		}
	}
	write("[INFO] memberlist: first")
	<-log.entered // the goroutine holds the first line and gets no further
	for i := range journalLines + 7 {
		write(fmt.Sprintf("[INFO] memberlist: line-%d", i))
	}
	write("[DEBUG] memberlist: below the level")
	close(log.open)
	j.close()
	j.close()
	write("[INFO] memberlist: too late")
	got := log.String()
	for text, want := range map[string]int{"first": 1, "line-": journalLines, "lines=7": 1, "below": 0, "late": 0} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q is logged %d times, want %d", text, n, want)
		}
	}
}
