package weblog

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
)

// Log is a whole log, in memory.
type Log struct {
	// Entries are the requests by time; those of one instant stand in the order of their lines.
	Entries []Entry
	// Skipped counts the lines that are no entry. Blank lines don't count.
	Skipped int
	// Bad are the first five of them.
	Bad []BadLine
}

// BadLine is a line that could not be understood.
type BadLine struct {
	// Number is the number of the line, from 1.
	Number int
	// Why says what is missing or wrong.
	Why string
	// Excerpt is the start of the line: at most 80 printable characters.
	Excerpt string
}

const (
	keptBad      = 5
	excerptChars = 80
)

// ReadFile reads the log in the file called name, or in stdin if name is "-", as Read does.
func ReadFile(name string, stdin io.Reader) (*Log, error) {
	if name == "-" {
		web, err := Read(stdin)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return web, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("access log: %w", err)
	}
	defer f.Close()
	web, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("access log %s: %w", name, err)
	}
	return web, nil
}

// Read reads a log until r ends. It may be gzipped, in one or several members: its first two bytes tell. Lines end in
// LF or CRLF; a line above 64 KiB is skipped as one that can't be understood. An empty log has no entries.
//
// The error wraps ErrDamaged if gzipped data is cut short or broken, else it is that of r; it says how many lines came
// before. Memory is what the entries take, some hundred bytes each more than their lines.
func Read(r io.Reader) (*Log, error) {
	lines, err := newLineReader(r)
	if err != nil {
		return nil, err
	}
	web := &Log{}
	for {
		line, long, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if long {
			web.skip(lines.number, fmt.Sprintf("longer than %d bytes", maxLine), line)
			continue
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, err := parseLine(string(line))
		if err != nil {
			web.skip(lines.number, err.Error(), line)
			continue
		}
		e.Line = lines.number
		web.Entries = append(web.Entries, e)
	}
	slices.SortFunc(web.Entries, func(a, b Entry) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Line, b.Line))
	})
	return web, nil
}

func (l *Log) skip(number int, why string, line []byte) {
	l.Skipped++
	if len(l.Bad) < keptBad {
		start := line[:min(len(line), 4*(excerptChars+1))] // enough for one character more than is shown
		l.Bad = append(l.Bad, BadLine{Number: number, Why: why, Excerpt: Printable(string(start), excerptChars)})
	}
}
