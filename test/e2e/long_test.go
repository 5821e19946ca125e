package e2e

import (
	"flag"
	"testing"
)

var long = flag.Bool("long", false, "run the tests that take long as well")

// takesLong skips a test unless it was asked for: whole clusters that are grown, rolled and cut for a minute or so. The
// simulation shows the same in the quick suite.
func takesLong(t *testing.T) {
	t.Helper()
	if !*long {
		t.Skip("run with -long")
	}
}
