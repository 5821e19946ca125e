package gossip

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// journalLines is how many lines may wait for a slow log before more are dropped.
const journalLines = 256

// journal passes log lines on from a goroutine of its own. Memberlist logs under its lock, so a log that blocks would
// make a healthy node look dead.
type journal struct {
	logger   *slog.Logger
	ours     string // the wire label of this node
	lines    chan line
	dropped  atomic.Int64
	quit     chan struct{}
	stopOnce sync.Once
	stopped  chan struct{}
}

type line struct {
	level slog.Level
	text  string
	attrs []slog.Attr
}

// newJournal starts the goroutine; close ends it.
func newJournal(logger *slog.Logger, ours string) *journal {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	j := &journal{
		logger: logger, ours: ours,
		lines: make(chan line, journalLines), quit: make(chan struct{}), stopped: make(chan struct{}),
	}
	go j.run()
	return j
}

func (j *journal) run() {
	defer close(j.stopped)
	for {
		select {
		case l := <-j.lines:
			j.emit(l)
		case <-j.quit:
			for {
				select {
				case l := <-j.lines:
					j.emit(l)
				default:
					return
				}
			}
		}
	}
}

func (j *journal) emit(l line) {
	if n := j.dropped.Swap(0); n > 0 {
		j.logger.Warn("the log is too slow: gossip lines were dropped", "lines", n)
	}
	j.logger.LogAttrs(context.Background(), l.level, l.text, l.attrs...)
}

// add queues a line without blocking.
func (j *journal) add(level slog.Level, text string, attrs ...slog.Attr) {
	if !j.logger.Enabled(context.Background(), level) {
		return
	}
	select {
	case j.lines <- line{level, text, attrs}:
	default:
		j.dropped.Add(1)
	}
}

// close writes what is queued and returns when nothing more will be written.
func (j *journal) close() {
	j.stopOnce.Do(func() { close(j.quit) })
	<-j.stopped
}

// Write takes one line of memberlist's, "[WARN] memberlist: text".
func (j *journal) Write(p []byte) (int, error) {
	level, text := parseLine(string(p))
	if label, from, ok := foreignLabel(text); ok {
		theirs, theirHash := splitLabel(label)
		ours, ourHash := splitLabel(j.ours)
		if label == "" { // who has no label speaks another protocol: a health check that only connects, or a scan
			level = slog.LevelDebug
		}
		j.add(level, "refused a node of another cluster; to make it one, give all nodes the same label and secret",
			slog.String("from", from), slog.String("its_label", theirs), slog.String("its_secret", theirHash),
			slog.String("our_label", ours), slog.String("our_secret", ourHash))
	} else {
		j.add(level, text)
	}
	return len(p), nil
}

var levels = map[string]slog.Level{
	"DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn,
	"ERR": slog.LevelError, "ERROR": slog.LevelError,
}

// quiet are the beginnings of lines that memberlist takes more seriously than they are: a node that is down,
// restarted or slow makes dozens of them, and the changes of the list tell the same.
var quiet = []struct {
	prefix string
	level  slog.Level
}{
	{"Failed to send UDP ping", slog.LevelDebug},
	{"Failed to send UDP compound ping", slog.LevelDebug},
	{"Failed to send indirect", slog.LevelDebug},
	{"Failed to send gossip", slog.LevelDebug},
	{"Failed to forward ack", slog.LevelDebug},
	{"Failed to send ack", slog.LevelDebug},
	{"Failed to send nack", slog.LevelDebug},
	{"Failed fallback TCP ping", slog.LevelDebug},
	{"Got ping for unexpected node", slog.LevelDebug},
	{"discarding packet with", slog.LevelDebug}, // its stream says the same once
	{"discarding stream with", slog.LevelWarn},
	{"Push/Pull with", slog.LevelWarn},
	{"Failed push/pull merge", slog.LevelWarn},
	{"failed to receive", slog.LevelWarn},
	{"Failed to read remote state", slog.LevelWarn},
}

func parseLine(raw string) (slog.Level, string) {
	level, text := slog.LevelWarn, strings.TrimSpace(raw)
	if tag, rest, ok := strings.Cut(text, "] "); ok && strings.HasPrefix(tag, "[") {
		if known, ok := levels[tag[1:]]; ok {
			level, text = known, rest
		}
	}
	text = strings.TrimPrefix(text, "memberlist: ")
	for _, q := range quiet {
		if strings.HasPrefix(text, q.prefix) {
			return q.level, text
		}
	}
	return level, text
}

// foreignLabel takes apart the line in which memberlist refuses a label.
func foreignLabel(text string) (label, from string, ok bool) {
	_, quoted, ok := strings.Cut(text, "with unacceptable label ")
	if !ok {
		return "", "", false
	}
	prefix, err := strconv.QuotedPrefix(quoted)
	if err != nil {
		return "", "", false
	}
	label, err = strconv.Unquote(prefix)
	_, from, _ = strings.Cut(quoted[len(prefix):], "from=")
	return label, from, err == nil
}
