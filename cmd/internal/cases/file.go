package cases

import (
	"math"
	"path/filepath"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

const (
	// MaxTextBytes bounds the text that Parse reads.
	MaxTextBytes = 1 << 20
	// MaxTimes bounds how often one step asks.
	MaxTimes = 1_000_000
)

// File is what one file of cases says.
type File struct {
	// Name is the name that Parse was given.
	Name string
	// Policies is the file of policies to test, as it is written: relative to this one, unless it is absolute. At is where.
	Policies string
	At       policy.Problem
	// Cases are at least one.
	Cases []Case
}

// PoliciesFile returns the name of the file of policies as the program may open it.
func (f *File) PoliciesFile() string {
	if filepath.IsAbs(f.Policies) {
		return f.Policies
	}
	return filepath.Join(filepath.Dir(f.Name), f.Policies)
}

// Case is a list of steps that begins with nothing taken.
type Case struct {
	// Name is one line of printable text.
	Name string
	// Line is where it begins, from 1.
	Line int
	// Start is what the clock says at first, from 1970 to 2200.
	Start time.Time
	// Steps are at least one, in the order of their time.
	Steps []Step
}

// Step is one request, asked once or several times, and what is expected.
type Step struct {
	// Line is where it is, from 1.
	Line int
	// At is when it is asked first: no earlier than the last time of the step before, nor than the start.
	At time.Time
	// Request is what is asked.
	Request policy.Request
	// Times is how often, 1 to MaxTimes, and Every how long after the one before.
	Times int64
	Every time.Duration
	// Expect is what the answers are to be.
	Expect Expectation
}

// last is when a step asks for the last time. ok is false if that is beyond all times.
func (s *Step) last() (at time.Time, ok bool) {
	more := time.Duration(s.Times - 1)
	if more > 0 && s.Every > math.MaxInt64/more {
		return s.At, false
	}
	return s.At.Add(more * s.Every), true
}

// defaultStart is what the clock says at first if nobody says otherwise: a Thursday, and the first of a year.
var defaultStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
