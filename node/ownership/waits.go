package ownership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// Wait is what keeps a node from doing its part.
type Wait uint8

const (
	WaitNone       Wait = iota // all is well
	WaitSuperseded             // a newer process has its id: it waits for ever
	WaitMeet                   // it knows nobody
	WaitFound                  // it knows others, and none of them knows a cluster
	WaitRecall                 // it was a member before, and has to be told what it knew
	WaitTakenIn                // a majority has to take it in
	WaitAuthority              // a majority has to acknowledge it
	WaitOwners                 // owners are silent, and their partitions not taken over yet
)

// Waits returns what keeps this node from doing its part, and a sentence about it that begins with a verb, as in "n1 has
// met nobody". All of them pass by within moments while a cluster forms or somebody is lost; what stays needs an operator,
// and the sentence says what for.
func (m *Machine) Waits(now bucket.Instant) (w Wait, sentence string) {
	switch {
	case m.superseded:
		return WaitSuperseded, "decides nothing any more: a newer process has its name. Give each node a --name of its own, " +
			"and restart this one"
	case !m.memory && m.list.Empty():
		return m.waitsForCluster(now)
	case !m.memory:
		return m.waitsForMemory()
	case m.leaving:
		return WaitNone, ""
	case !m.joined:
		return WaitTakenIn, fmt.Sprintf("is asking to be taken in: %d of %s %s to agree%s", m.list.Majority(),
			names(m.list.members), verb(m.list.Majority(), "has", "have"), m.silence(now))
	case !m.hasAuthority(now):
		n := 0
		for _, id := range m.list.members {
			if m.acknowledgedBy(now, id) {
				n++
			}
		}
		return WaitAuthority, fmt.Sprintf("has no authority: %d of %d members %s it, a majority is %d%s", n, len(m.list.members),
			verb(n, "acknowledges", "acknowledge"), m.list.Majority(), m.silence(now))
	}
	return m.waitsForOwners(now)
}

func (m *Machine) waitsForCluster(now bucket.Instant) (Wait, string) {
	if len(m.peers) == 0 {
		return WaitMeet, "has met nobody: start the others, or correct --join; a node that is to be alone has no --join, or " +
			"--expect 1"
	}
	var met, mute []string
	for _, p := range m.peers {
		if at, ok := m.met[p.ID]; ok && now-at.at <= bucket.Instant(metFor) {
			met = append(met, p.ID)
		} else {
			mute = append(mute, p.ID)
		}
	}
	slices.Sort(met)
	slices.Sort(mute)
	switch {
	case mute != nil:
		return WaitFound, fmt.Sprintf("waits for %s to say whether there is a cluster", names(mute))
	case m.cfg.Expect > len(met)+1:
		return WaitFound, fmt.Sprintf("has met %s, and none knows a cluster: they found one once %d have met (--expect)",
			names(met), m.cfg.Expect)
	}
	return WaitFound, fmt.Sprintf("has met %s, and none knows a cluster: they found one %s after their start (--join-timeout)",
		names(met), m.cfg.JoinTimeout)
}

// waitsForMemory is about a member that has come back without its list.
func (m *Machine) waitsForMemory() (Wait, string) {
	var mute []string
	for _, id := range m.list.members {
		if _, met := m.met[id]; !met && id != m.self.ID {
			mute = append(mute, id)
		}
	}
	n := len(m.list.members)
	others := n - 1 - len(mute)
	return WaitRecall, fmt.Sprintf("has come back without its list and waits for %d more of %s",
		max(min(n-m.list.Majority()+1, n-1)-others, 0), names(mute))
}

// waitsForOwners is about partitions whose owner can't be asked.
func (m *Machine) waitsForOwners(now bucket.Instant) (Wait, string) {
	n := 0
	var owners []string
	for part := range m.parts {
		if owner, _ := m.Decider(now, part); owner != "" {
			continue
		}
		n++
		if id := m.parts[part].known.Owner; id != "" && id != m.self.ID && !slices.Contains(owners, id) {
			owners = append(owners, id)
		}
	}
	switch {
	case n == 0:
		return WaitNone, ""
	case owners == nil:
		return WaitOwners, fmt.Sprintf("knows no owner of %d of %d partitions yet", n, len(m.parts))
	}
	slices.Sort(owners)
	return WaitOwners, fmt.Sprintf("waits for %d of %d partitions to be taken over from %s", n, len(m.parts), names(owners))
}

// silence says which members don't acknowledge this node, and what to do about it. It begins with a separator.
func (m *Machine) silence(now bucket.Instant) string {
	var silent, deaf []string
	least := bucket.Instant(0)
	for _, id := range m.list.members {
		switch {
		case id == m.self.ID || m.acknowledgedBy(now, id):
		case m.speaks(now, id):
			deaf = append(deaf, id)
		default:
			since := now - m.heard[id].spoke
			if silent == nil || since < least {
				least = since
			}
			silent = append(silent, id)
		}
	}
	var text strings.Builder
	lasts := time.Duration(least).Round(100 * time.Millisecond)
	switch len(silent) {
	case 0:
	case 1:
		fmt.Fprintf(&text, "; %s has been silent for %v: start it, or `drossel members forget %s` if it is gone for good",
			silent[0], lasts, silent[0])
	default:
		fmt.Fprintf(&text, "; %s have been silent for %v or more: start them, or `drossel members forget` those that are gone "+
			"for good", names(silent), lasts)
	}
	if deaf != nil && m.joined {
		fmt.Fprintf(&text, "; %s %s heard, and %s not acknowledge it yet", names(deaf), verb(len(deaf), "is", "are"),
			verb(len(deaf), "does", "do"))
	}
	return text.String()
}

// names lists ids.
func names(ids []string) string {
	const most = 5
	switch n := len(ids); {
	case n == 0:
		return "nobody"
	case n == 1:
		return ids[0]
	case n > most:
		return strings.Join(ids[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	default:
		return strings.Join(ids[:n-1], ", ") + " and " + ids[n-1]
	}
}

// verb returns the form that goes with a number.
func verb(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
