package node

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/node/ownership"
	"github.com/drossel-dev/drossel/transport"
)

// takeGroups answers a call by which another node puts groups here.
func (g *governor) takeGroups(from string, body []byte) ([]byte, error) {
	puts, err := ownership.DecodePuts(body)
	if err != nil {
		return nil, err
	}
	results := make([]ownership.PutResult, len(puts))
	for i := range puts {
		if p := &puts[i]; p.Partition >= len(g.estates) || p.Claim.Owner != from {
			return nil, fmt.Errorf("%w: groups of partition %d for %v from %s", ownership.ErrMessage, p.Partition, p.Claim, from)
		}
		if puts[i].Stage {
			results[i] = g.stage(&puts[i])
		} else {
			results[i] = g.keep(&puts[i])
		}
	}
	return ownership.AppendResults(nil, results), nil
}

// stage takes groups of a partition that is on its way here.
func (g *governor) stage(p *ownership.Put) (result ownership.PutResult) {
	g.step(func(now bucket.Instant) {
		s := &g.shelves
		switch {
		case g.machine.Self() != p.For:
			result = ownership.PutRefused
			return
		case p.First:
			s.clear(p.Partition, staged)
			g.staging[p.Partition] = p.Claim
		case g.staging[p.Partition] != p.Claim: // the beginning is missing
			result = ownership.PutRefused
			return
		}
		if !g.tookIn(s.put(p.Partition, staged, p.Blob, g.node.clock.Now())) {
			delete(g.staging, p.Partition)
			result = ownership.PutRefused
			return
		}
		result = ownership.PutTaken
		if p.Last {
			s[staged].settled[p.Partition] = p.Settled
			g.machine.Arrived(now, p.Partition, p.Claim, p.For)
		}
	})
	return result
}

// gathering is a copy of which not all has come.
type gathering struct {
	ownership.Snapshot
	blobs [][]byte
}

// keep takes a copy, or a part of one. A whole one takes the place of what was kept before when all of it is there.
func (g *governor) keep(p *ownership.Put) (result ownership.PutResult) {
	g.step(func(now bucket.Instant) {
		result = ownership.PutRefused
		if !g.machine.Accepts(p.Snapshot) {
			return
		}
		blobs := [][]byte{p.Blob}
		if p.Base == 0 && !(p.First && p.Last) {
			c := g.copying[p.Partition]
			if p.First {
				c = &gathering{Snapshot: p.Snapshot}
				g.copying[p.Partition] = c
			} else if c == nil || c.Snapshot != p.Snapshot {
				return
			}
			c.blobs = append(c.blobs, bytes.Clone(p.Blob))
			if !p.Last {
				result = ownership.PutTaken
				return
			}
			blobs = c.blobs
		}
		s := &g.shelves
		if p.Base == 0 {
			delete(g.copying, p.Partition)
			s.clear(p.Partition, kept)
		}
		for _, b := range blobs {
			if !g.tookIn(s.put(p.Partition, kept, b, g.node.clock.Now())) {
				return
			}
		}
		result = ownership.PutTaken
		if p.Last {
			s[kept].settled[p.Partition] = p.Settled
			g.machine.Keeps(p.Snapshot)
		}
	})
	return result
}

// tookIn says whether a blob was read, and says so when there was no room for all of it: what was left out starts full if this node has to
// go on from it.
func (g *governor) tookIn(err error) bool {
	if errors.Is(err, table.ErrBlob) {
		if now := g.node.timer.Now(); now >= g.unread {
			g.unread = now + bucket.Instant(alarmAgain)
			g.node.log.Error("groups of another node can't be read, and are refused", "error", err)
		}
		return false
	}
	if err != nil {
		g.node.counters.short.Add(1)
		g.node.log.Error("not all groups of another node could be taken in; those that are missing start full if this node "+
			"takes over; raise TableBytes (--table-bytes)", "error", err)
	}
	return true
}

// giveGroups answers a call by which another node fetches the copy that is kept here, or what is frozen here.
func (g *governor) giveGroups(from transport.Hello, body []byte) ([]byte, error) {
	want, err := ownership.DecodeGet(body)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if want.Partition >= len(g.estates) {
		return nil, fmt.Errorf("%w: partition %d of %d", ownership.ErrMessage, want.Partition, len(g.estates))
	}
	have := g.machine.Copy(want.Partition)
	if have.Less(want) {
		return nil, fmt.Errorf("no copy of partition %d as fresh as %d of %v", want.Partition, want.Seq, want.Claim)
	}
	at := kept
	if g.machine.Holds(want.Partition) || g.machine.Frozen(want.Partition) { // lost, as others have it, and yet to hear of that
		at = held
	}
	ids := g.shelves[at].table.IDs(want.Partition, nil)
	puts := g.export(at, ids, ownership.Put{Snapshot: ownership.Snapshot{Partition: want.Partition, Claim: have.Claim, Seq: have.Seq}},
		from.MaxVersion < transport.EntriesVersion)
	all, _ := ownership.AppendPuts(nil, puts, maxReplyBytes)
	return all, nil
}
