package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node/source"
)

// read looks at a file.
func read(path string) reading {
	found, err := open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("policy file %s is %w: %w; put it there, until then the policies stay as they are",
			path, source.ErrMissing, err)
	case err != nil:
		err = fmt.Errorf("policy file %s is %w: %w; have it readable for user id %d, until then the policies stay as they are",
			path, source.ErrUnreadable, err, os.Getuid())
	}
	return reading{true, found, err}
}

// open reads a file, and no more of it than shows that it is too large.
func open(path string) (source.Found, error) {
	info, err := os.Stat(path)
	if err != nil {
		return source.Found{}, err
	}
	if !info.Mode().IsRegular() { // a pipe would keep us until somebody writes to it
		return source.Found{}, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return source.Found{}, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // of the file that is read, if it was replaced since
		return source.Found{}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, policy.MaxTextBytes+1))
	if err != nil {
		return source.Found{}, err
	}
	return source.Found{Name: path, Text: text, Revision: uint64(max(info.ModTime().UnixMilli(), 0))}, nil
}
