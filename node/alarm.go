package node

import (
	"log/slog"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/node/ownership"
)

// alarm says in the log what a node waits for: once that has lasted for a while, and then again and again until it is over.
// The zero alarm has nothing to say.
type alarm struct {
	next bucket.Instant // when to look
	wait ownership.Wait
	due  bucket.Instant // when to speak
	said bool
}

const (
	alarmInterval = time.Second
	// alarmPatience is for what passes by: a cluster that forms, a member that is taken over from.
	alarmPatience = 2 * time.Second
	alarmAgain    = 30 * time.Second
)

// look speaks if it is time to. The governor is locked.
func (a *alarm) look(now bucket.Instant, m *ownership.Machine, log *slog.Logger) {
	if now < a.next {
		return
	}
	a.next = now + bucket.Instant(alarmInterval)
	wait, sentence := m.Waits(now)
	if wait != a.wait {
		if wait == ownership.WaitNone && a.said {
			log.Info("this node waits for nothing any more")
		}
		a.wait, a.due, a.said = wait, now+bucket.Instant(alarmPatience), a.said && wait != ownership.WaitNone
	}
	if wait != ownership.WaitNone && now >= a.due {
		log.Warn("this node " + sentence)
		a.due, a.said = now+bucket.Instant(alarmAgain), true
	}
}
