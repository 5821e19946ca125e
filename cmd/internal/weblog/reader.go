package weblog

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// ErrDamaged is wrapped by the error of a gzipped log that is cut short or broken.
var ErrDamaged = errors.New("damaged gzip data")

// maxLine is the length of the longest line that is read, without its line ending.
const maxLine = 64 << 10

// lineReader reads lines of bounded length out of plain or gzipped data.
type lineReader struct {
	from   *bufio.Reader
	number int // of the line that next returned last
}

func newLineReader(r io.Reader) (*lineReader, error) {
	const lineEnding = 2
	raw := bufio.NewReader(r)
	lines := &lineReader{}
	magic, err := raw.Peek(2)
	switch {
	case err != nil && err != io.EOF:
		return nil, lines.failed(err)
	case !bytes.Equal(magic, []byte{0x1f, 0x8b}):
		lines.from = bufio.NewReaderSize(raw, maxLine+lineEnding)
		return lines, nil
	}
	unzipped, err := gzip.NewReader(raw)
	if err != nil {
		return nil, lines.failed(err)
	}
	lines.from = bufio.NewReaderSize(unzipped, maxLine+lineEnding)
	return lines, nil
}

// next returns the next line without its line ending, or io.EOF. Of a line that is too long it returns the start, and
// has passed over the rest. The line is valid until the next call.
func (l *lineReader) next() (line []byte, long bool, err error) {
	line, err = l.from.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		return l.passLong(line)
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, false, l.failed(err)
	}
	l.number++
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	return line, len(line) > maxLine, nil
}

// passLong reads to the end of a line that fills the buffer, and keeps a little of its start.
func (l *lineReader) passLong(line []byte) ([]byte, bool, error) {
	start := bytes.Clone(line[:4*(excerptChars+1)])
	for {
		_, err := l.from.ReadSlice('\n')
		if err == nil || err == io.EOF {
			l.number++
			return start, true, nil
		}
		if err != bufio.ErrBufferFull {
			return nil, false, l.failed(err)
		}
	}
}

// failed adds to a reading error how far the reading came. The end of the data is none.
func (l *lineReader) failed(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case err == io.EOF:
		return io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends early, after %d whole lines: %w", ErrDamaged, l.number, err)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return fmt.Errorf("%w: it is broken after %d whole lines: %w", ErrDamaged, l.number, err)
	}
	return fmt.Errorf("after %d lines: %w", l.number, err)
}
