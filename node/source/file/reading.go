package file

import (
	"bytes"

	"github.com/drossel-dev/drossel/node/source"
)

// reading is what one look at a file has found: a text, or what was in the way. The zero reading is that nobody has looked.
type reading struct {
	looked bool
	found  source.Found
	err    error
}

func (a reading) same(b reading) bool {
	if !a.looked || !b.looked || (a.err == nil) != (b.err == nil) {
		return false
	}
	if a.err != nil {
		return a.err.Error() == b.err.Error()
	}
	return bytes.Equal(a.found.Text, b.found.Text)
}

func (a reading) report(to *source.Reporter) {
	if a.err != nil {
		to.Failed(a.err)
		return
	}
	to.Found(a.found)
}

// steady tells which readings count: what has been read twice in a row, and is another than what counted before. So a text
// that is being written is not taken for whole, nor a file for missing that is being replaced.
type steady struct {
	last, counts reading
}

// verdict is what to make of a reading.
type verdict uint8

const (
	known  verdict = iota // it is what counts already
	unsure                // look again
	news                  // it counts from now on
)

func (s *steady) look(now reading) verdict {
	last := s.last
	s.last = now
	switch {
	case now.same(s.counts):
		return known
	case now.same(last):
		s.counts = now
		return news
	}
	return unsure
}
