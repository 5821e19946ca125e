package bucket

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // all nodes have to know the same zones, whatever is installed where
)

// almanac gives the windows of one time zone. The last one asked for of each period is kept, for finding it takes a
// microsecond, and everybody asks for the one that is now.
type almanac struct {
	zone *time.Location
	last [Year + 1]atomic.Pointer[Window]
}

var almanacs sync.Map // by name

// zoned returns the almanac of a zone.
func zoned(name string) (*almanac, error) {
	if a, ok := almanacs.Load(name); ok {
		return a.(*almanac), nil
	}
	if name == "Local" { // which is another one on every machine
		return nil, fmt.Errorf("time zone %q, want a name such as Europe/Berlin", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %.64q is not known, want a name such as Europe/Berlin", name)
	}
	a, _ := almanacs.LoadOrStore(name, &almanac{zone: zone})
	return a.(*almanac), nil
}

func (a *almanac) window(c Calendar, unix int64) Window {
	last := &a.last[c]
	if w := last.Load(); w != nil && w.Start <= unix && unix < w.End {
		return *w
	}
	w := c.Window(unix, a.zone)
	last.Store(&w)
	return w
}
