package replay

import (
	"fmt"
	"strings"
	"time"
)

// Marks of the chart: letters, so that it needs neither colour nor a special font.
const (
	admittedMark = "#"
	deniedMark   = "x"
)

// chart draws one row per slot, earliest first: its time, a bar of what was admitted and then what was denied, and the
// two counts. All bars have one scale.
func (r *Report) chart(b *strings.Builder, width int) {
	most := int64(0)
	for _, s := range r.Timeline.Slots {
		most = max(most, s.Admitted+s.Denied)
	}
	if most == 0 {
		return
	}
	layout := r.Timeline.layout()
	digits := max(len(fmt.Sprint(most)), len("admitted"))
	bars := width - len(layout) - len(" |") - len("|") - 2*(digits+1)
	fmt.Fprintf(b, "\nrequests over time, %s a row (%s admitted, %s denied; a full bar is %d)\n", words(r.Timeline.Slot),
		admittedMark, deniedMark, most)
	fmt.Fprintf(b, "%-*s |0%*d| %*s %*s\n", len(layout), "UTC", bars-1, most, digits, "admitted", digits, "denied")
	for i, s := range r.Timeline.Slots {
		at := r.Timeline.Start.Add(time.Duration(i) * r.Timeline.Slot)
		admitted, denied := marks(s, most, bars)
		fmt.Fprintf(b, "%s |%s%s%s| %*d %*d\n", at.Format(layout), strings.Repeat(admittedMark, admitted),
			strings.Repeat(deniedMark, denied), strings.Repeat(" ", bars-admitted-denied), digits, s.Admitted, digits, s.Denied)
	}
}

// marks returns how many marks of each kind a slot gets if most requests fill all bars of a row. What happened at all
// is never without a mark. bars is at least 2.
func marks(s SlotCount, most int64, bars int) (admitted, denied int) {
	both := s.Admitted + s.Denied
	if both == 0 {
		return 0, 0
	}
	all := scaled(both, most, bars)
	denied = scaled(s.Denied, most, bars)
	switch {
	case s.Admitted == 0 || denied < all:
	case all == 1:
		all = 2
	default:
		denied--
	}
	return all - denied, denied
}

// scaled is count of most in bars, rounded up.
func scaled(count, most int64, bars int) int {
	return int((count*int64(bars) + most - 1) / most) // a log has no 2^53 lines: no overflow
}

// layout is how the start of a slot is written: as precisely as its length asks for.
func (t *Timeline) layout() string {
	switch {
	case t.Slot >= day:
		return time.DateOnly
	case t.Slot >= time.Minute:
		return "2006-01-02 15:04"
	}
	return time.DateTime
}

// words writes a slot's length: 30s, 15m, 3h, 2 days.
func words(d time.Duration) string {
	switch {
	case d == day:
		return "1 day"
	case d > day:
		return fmt.Sprintf("%d days", d/day)
	case d >= time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
