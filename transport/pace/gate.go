package pace

import (
	"sync"
	"time"
)

// maxPlaces bounds how many places a gate remembers, and how long it looks for one to forget.
const maxPlaces = 1024

// gate remembers until when places are closed: the servers there have asked that nothing be sent before. All others are open. It knows no
// clock. The zero value is open everywhere. Safe for concurrent use.
type gate struct {
	mu     sync.Mutex
	closed map[string]time.Time // place: when it opens
}

// opens returns when a place opens, the zero time if it is open now.
func (g *gate) opens(place string, now time.Time) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, known := g.closed[place]
	if known && !at.After(now) {
		delete(g.closed, place)
		return time.Time{}
	}
	return at
}

// close closes a place until an instant after now. Of two such words the later instant counts: a server of many replicas may have several
// opinions, and the last to speak need not be the last to open.
func (g *gate) close(place string, until, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, known := g.closed[place]
	switch {
	case known && !until.After(at):
		return
	case !known && len(g.closed) >= maxPlaces && !g.makeRoomLocked(until, now):
		return
	}
	if g.closed == nil {
		g.closed = make(map[string]time.Time)
	}
	g.closed[place] = until
}

// makeRoomLocked forgets what is open by now, else the place that opens first, which is the least loss. It returns false if that would be one
// which is not in yet and opens at until.
func (g *gate) makeRoomLocked(until, now time.Time) bool {
	first, opens := "", until
	for place, at := range g.closed {
		switch {
		case !at.After(now):
			delete(g.closed, place)
		case at.Before(opens):
			first, opens = place, at
		}
	}
	if len(g.closed) < maxPlaces {
		return true
	}
	if !opens.Before(until) {
		return false
	}
	delete(g.closed, first)
	return true
}
