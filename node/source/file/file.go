package file

import (
	"context"
	"fmt"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/drossel-dev/drossel/node/source"
)

// settle is how long a file must read the same. A change is found after about twice that.
const settle = 25 * time.Millisecond

const defaultPoll = 5 * time.Second

// Config says which file. Path is required.
type Config struct {
	// Path is the file, or a symlink to it. Neither it nor its directory need be there yet.
	Path string
	// Poll is how often the file is looked at without notification, 0 for 5 s. A look reads the file.
	Poll time.Duration
}

// Source is a file with policies. Safe for concurrent use.
type Source struct{ cfg Config }

// New checks the configuration and opens nothing. The error wraps source.ErrConfig.
func New(cfg Config) (*Source, error) {
	switch {
	case cfg.Path == "":
		return nil, fmt.Errorf("%w: Path is empty, want the name of a file", source.ErrConfig)
	case cfg.Poll < 0:
		return nil, fmt.Errorf("%w: Poll is %v, want more than 0, or 0 for %v", source.ErrConfig, cfg.Poll, defaultPoll)
	case cfg.Poll == 0:
		cfg.Poll = defaultPoll
	}
	return &Source{cfg}, nil
}

// Watch is as source.Source has it. Trouble is source.ErrMissing, source.ErrUnreadable or source.ErrTooLarge.
func (s *Source) Watch(ctx context.Context, found func(source.Found), failed func(error)) error {
	report := source.NewReporter(found, failed)
	var changes <-chan fsnotify.Event
	var lost <-chan error // chiefly that there were more changes than the system keeps
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		changes, lost = watcher.Events, watcher.Errors
	} // else this system has no more of them, and polling must do
	poll := time.NewTicker(s.cfg.Poll)
	defer poll.Stop()

	// Whatever happens, the next look is a moment off: two looks are never closer than settle.
	look, due := time.NewTimer(0), true
	defer look.Stop()
	soon := func() {
		if !due {
			look.Reset(settle)
			due = true
		}
	}
	var file steady
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
			soon()
		case <-changes:
			soon()
		case <-lost:
			soon()
		case <-look.C:
			due = false
			if watcher != nil {
				follow(watcher, s.cfg.Path) // before reading: what changes from here on is noticed
			}
			now := read(s.cfg.Path)
			switch file.look(now) {
			case unsure:
				soon()
			case news:
				now.report(report)
			}
		}
	}
}
