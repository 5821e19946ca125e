package bucket

// Algorithm says how a limit counts. The zero Algorithm is TokenBucket.
type Algorithm uint8

const (
	// TokenBucket lets Count tokens flow in per Per, up to Burst.
	TokenBucket Algorithm = iota
	// Pacer lets requests go at a constant rate, Count per Per: the next goes when what went before has been paid for at that
	// rate, and is told how long to wait.
	Pacer
	// SlidingWindow admits Burst in any Per: exactly, by a log, up to MaxLogged; above that by two counters.
	SlidingWindow
	// FixedWindow admits Burst in each Per, the same for all keys: those of an hour begin at whole hours of Unix time.
	FixedWindow
	// FirstHitWindow admits Burst in a Per that begins with a key's first request.
	FirstHitWindow
	// CalendarWindow admits Burst in each minute, hour, day, week, month or year of some time zone.
	CalendarWindow
)

var algorithms = []string{"token_bucket", "pacer", "sliding_window", "fixed_window", "first_hit_window", "calendar"}

// String returns the word used in YAML, and "unknown" for a value that is none of the constants.
func (a Algorithm) String() string {
	if int(a) < len(algorithms) {
		return algorithms[a]
	}
	return "unknown"
}

// Lends says whether tokens can be lent. Those of a pacer and of a sliding window have no end at which what was lent is
// worth nothing any more, and a first-hit window has none before somebody has taken from it.
func (a Algorithm) Lends() bool { return a == TokenBucket || a == FixedWindow || a == CalendarWindow }
