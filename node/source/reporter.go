package source

import (
	"bytes"
	"fmt"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Reporter stands between a source that is looked at again and again, and whoever watches it: it passes on a text if it
// is another than the one before, and trouble when it begins, and when it is over though the text is the same. Trouble is over when a
// text is found, or when other trouble takes its place; which is other is told by the error of this package that it wraps, for the words of one and the same
// change from try to try. Not safe for concurrent use.
type Reporter struct {
	found   func(Found)
	failed  func(error)
	text    []byte // the last that was passed on
	any     bool   // there was one
	trouble error  // the kind of what is in the way, or nil
}

// NewReporter returns a Reporter that passes on to these two.
func NewReporter(found func(Found), failed func(error)) *Reporter {
	return &Reporter{found: found, failed: failed}
}

// Found says that the source has this text. One that is too large is trouble.
func (r *Reporter) Found(f Found) {
	if len(f.Text) > policy.MaxTextBytes {
		r.Failed(fmt.Errorf("%s is %w: it has more than the %d bytes that are read; shorten it, until then the policies "+
			"stay as they are", f.Name, ErrTooLarge, policy.MaxTextBytes))
		return
	}
	over := r.trouble != nil
	r.trouble = nil
	if r.any && bytes.Equal(f.Text, r.text) {
		if over {
			r.failed(nil)
		}
		return
	}
	r.text, r.any = f.Text, true
	r.found(f)
}

// Failed says what is in the way of the source.
func (r *Reporter) Failed(err error) {
	if k := kind(err); k != r.trouble {
		r.trouble = k
		r.failed(err)
	}
}
