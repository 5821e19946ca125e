package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// progress says on stderr how far something is: in one line that changes if that is a terminal, else in a new line
// every few seconds.
type progress struct {
	out      *os.File
	terminal bool
	every    time.Duration
	last     time.Time
	shown    bool
}

func newProgress(out *os.File) *progress {
	p := &progress{out: out, terminal: term.IsTerminal(int(out.Fd())), every: 2 * time.Second, last: time.Now()}
	if p.terminal {
		p.every = 100 * time.Millisecond
	}
	return p
}

// show prints if some time has passed since the last line.
func (p *progress) show(format string, args ...any) {
	now := time.Now()
	if now.Sub(p.last) < p.every {
		return
	}
	p.last, p.shown = now, true
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K"+format, args...)
		return
	}
	fmt.Fprintf(p.out, format+"\n", args...)
}

// end leaves a clean line.
func (p *progress) end() {
	if p.terminal && p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
