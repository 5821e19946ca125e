package bench

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// cpu returns the CPU time that this process has used, in user mode and in the kernel together. It is told in
// microseconds. What running threads have used since the kernel's last tick, 1 to 10 ms ago, is missing: over a quarter
// of a second on two cores a few percent at worst, and less over the sum of many slices.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

func TestCPU(t *testing.T) {
	before, err := cpu()
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "CPU time to be used", func() bool {
		for range 100_000 {
			_ = newOrder(0)
		}
		now, err := cpu()
		return err == nil && now > before
	})
}
