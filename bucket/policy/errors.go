package policy

import "errors"

var (
	// ErrInvalid is wrapped by every error that says the request itself is wrong: asking again cannot help.
	ErrInvalid = errors.New("invalid request")
	// ErrUnknownPolicy is wrapped when the request names a policy that does not exist. The text names near misses.
	ErrUnknownPolicy = errors.New("unknown policy")
	// ErrUnavailable is wrapped when the node that was asked takes no checks: it has not started, or has stopped.
	ErrUnavailable = errors.New("not available")
)
