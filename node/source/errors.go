package source

import "errors"

var (
	// ErrConfig is wrapped when the configuration of a source is wrong. The text names every field that is.
	ErrConfig = errors.New("invalid source of policies")
	// ErrUnreachable is wrapped when a server cannot be asked, or has no answer.
	ErrUnreachable = errors.New("out of reach")
	// ErrRefused is wrapped when a server does not let us read: a wrong password, a token without the right.
	ErrRefused = errors.New("refused")
	// ErrMissing is wrapped when there is no such file or key.
	ErrMissing = errors.New("not there")
	// ErrUnreadable is wrapped when a file is there and cannot be read.
	ErrUnreadable = errors.New("unreadable")
	// ErrTooLarge is wrapped when a text has more than policy.MaxTextBytes.
	ErrTooLarge = errors.New("too large")
)

// kinds are the kinds of trouble that a source may have.
var kinds = []error{ErrUnreachable, ErrRefused, ErrMissing, ErrUnreadable, ErrTooLarge}

// errOther is the kind of what wraps none of them.
var errOther = errors.New("other")

func kind(err error) error {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return k
		}
	}
	return errOther
}
