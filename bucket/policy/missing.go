package policy

// OnMissing says what becomes of a request that lacks an attribute of a policy's key.
type OnMissing uint8

const (
	// MissingRefuse refuses the request as invalid, so that the mistake is seen.
	MissingRefuse OnMissing = iota
	// MissingDeny denies it: nobody gets in by leaving out who he is. DecidedBy is MissingKey.
	MissingDeny
	// MissingSkip leaves the policy out.
	MissingSkip
)

var onMissings = []string{"refuse", "deny", "skip"}

// String returns the word used in YAML, and "unknown" for a value that is none of the constants.
func (m OnMissing) String() string {
	if int(m) < len(onMissings) {
		return onMissings[m]
	}
	return "unknown"
}
