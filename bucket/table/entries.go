package table

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/drossel-dev/drossel/bucket"
)

// Entry is what the limits store has for one key, in place of the limits that its policy would give it: a text that those who ask
// understand. It lies in the key's partition and goes where that goes.
//
// A key with an entry is only decided under limits that are by it (Limits.InternFor): so a slot's limits are always by the entry of its
// key, or, if it has none, by none.
type Entry struct {
	ID bucket.ID
	// Number orders the entries of a key; the highest is the one that counts. It is the microsecond of Unix time when it was made, or more.
	Number uint64
	// Text is "" where the entry was removed. That is remembered for RemovedFor, so that no older entry comes back.
	Text string
}

const (
	// MaxEntryBytes bounds the text of an entry.
	MaxEntryBytes = 2 << 10
	// RemovedFor is for how long it is remembered that an entry was removed.
	RemovedFor = 7 * 24 * time.Hour
	// entryBytes is about what an entry takes, beside its text.
	entryBytes = 96
	// entryReserve is by which part of the memory bound entries may exceed it: buckets of keys that somebody makes up must not keep limits
	// from being set.
	entryReserve = 8
	// maxTexts is how many texts are remembered, so that entries of the same one share it.
	maxTexts = 4096
)

// OtherLimits is the error about a group that was asked for under limits that are not by the entry of its key. Nothing was taken.
type OtherLimits struct {
	// Text is that of the entry; "" if there is none.
	Text string
}

// Error says which they are.
func (o *OtherLimits) Error() string {
	if o.Text == "" {
		return "the key has no limits of its own any more"
	}
	return fmt.Sprintf("the key has limits of its own: %s", o.Text)
}

// NameOf returns the name of an entry's text for InternFor. It is 0 for "".
func NameOf(text string) uint64 {
	if text == "" {
		return 0
	}
	return max(1, xxhash.Sum64String(text))
}

// entries are those of a partition.
type entries struct {
	by      map[bucket.ID]entry
	removed int         // of them have no text
	bytes   int64       // of all
	unsaved []bucket.ID // since Unsaved was called, some perhaps more than once
}

type entry struct {
	number uint64
	text   string
}

// entryText returns the text of a key's entry; "" if it has none.
func (p *partition) entryText(id bucket.ID) string {
	if p.stored == nil {
		return ""
	}
	return p.stored.by[id].text
}

// rightful returns nil if limits are by the entry of a key, or else the error.
func (p *partition) rightful(id bucket.ID, g *Group) error {
	if p.stored == nil && g.entry == 0 {
		return nil
	}
	if text := p.entryText(id); NameOf(text) != g.entry {
		return &OtherLimits{text}
	}
	return nil
}

// by returns the same limits, pinned, as those by an entry of another name. Of no policies it is known that they have them.
func (ls *Limits) by(g *Group, name uint64) *Group {
	g, err := ls.intern(g.limits, name, false)
	if err != nil {
		panic(err) // they were interned before
	}
	return g
}

// SaveEntries has the table note which entries come, for Unsaved. Call it before there are any.
func (t *Table) SaveEntries() { t.saves = true }

// Unsaved appends the entries of a partition that have come since it was last called.
func (t *Table) Unsaved(part int, into []Entry) []Entry {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stored == nil {
		return into
	}
	for _, id := range p.stored.unsaved {
		if e, ok := p.stored.by[id]; ok {
			into = append(into, Entry{id, e.number, e.text})
		}
	}
	p.stored.unsaved = nil
	return into
}

// SetEntry has an entry count from now on, unless a higher one is known; it says which number counts then. What was taken of the key
// before stays taken, and holders of leases are asked to give back. saved says that Unsaved need not return it. The error is ErrClosed,
// or ErrFull if there is no memory for one more.
func (t *Table) SetEntry(part int, e Entry, saved bool, now bucket.Instant) (number uint64, err error) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, ErrClosed
	}
	if err = t.setEntry(p, e, saved); errors.Is(err, ErrFull) {
		t.shrink(p, now) // what is full again makes room
		err = t.setEntry(p, e, saved)
	}
	if err != nil {
		t.refused.Add(1)
		return 0, err
	}
	return p.stored.by[e.ID].number, nil
}

func (t *Table) setEntry(p *partition, e Entry, saved bool) error {
	if p.stored == nil {
		p.stored = &entries{by: make(map[bucket.ID]entry)}
	}
	es := p.stored
	was, known := es.by[e.ID]
	if known && e.Number <= was.number {
		return nil
	}
	more := int64(len(e.Text) - len(was.text))
	if !known {
		more += entryBytes
	}
	if t.bytes.Add(more) > t.max+t.max/entryReserve && more > 0 {
		t.bytes.Add(-more)
		return ErrFull
	}
	es.bytes += more
	if known && was.text == "" {
		es.removed--
	}
	if e.Text == "" {
		es.removed++
	}
	es.by[e.ID] = entry{e.Number, t.limits.share(e.Text)}
	if t.saves && !saved {
		es.unsaved = append(es.unsaved, e.ID)
	}
	if p.tracked {
		p.changed = append(p.changed, e.ID)
	}
	t.relabelBy(p, e.ID, NameOf(e.Text))
	return nil
}

// relabelBy makes the slot of a key one of limits by its entry, until somebody asks who knows what limits these are. Leases of before are
// asked for.
func (t *Table) relabelBy(p *partition, id bucket.ID, name uint64) {
	p.each(func(s *slab) {
		w := s.find(id)
		if w == nil {
			return
		}
		old := t.limits.at(unpack(w[2]))
		if old.entry == name {
			return
		}
		g := t.limits.by(old, name)
		relabel(w, old, g)
		g.Release()
		p.touch(w)
		if isHot(w[2]) && t.lending.Recall != nil {
			t.lending.Recall(id, p.hot.at[place(w[2])].Holders())
		}
	})
}

// EntryOf returns the entry of a key; false if there never was one, or only long ago. The error is ErrClosed.
func (t *Table) EntryOf(part int, id bucket.ID) (e Entry, ok bool, err error) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return e, false, ErrClosed
	}
	if p.stored == nil {
		return e, false, nil
	}
	one, ok := p.stored.by[id]
	if !ok {
		return e, false, nil
	}
	return Entry{id, one.number, one.text}, true, nil
}

// forgetRemoved forgets that entries were removed long ago.
func (t *Table) forgetRemoved(p *partition, now bucket.Instant) {
	if p.stored == nil || p.stored.removed == 0 {
		return
	}
	before := uint64(max(0, time.Duration(int64(now)+t.wall.Load())-RemovedFor) / time.Microsecond)
	for id, e := range p.stored.by {
		if e.number < before && e.text == "" {
			delete(p.stored.by, id)
			p.stored.removed--
			p.stored.bytes -= entryBytes
			t.bytes.Add(-entryBytes)
		}
	}
}

// len returns how many there are, those that were removed not among them.
func (es *entries) len() int {
	if es == nil {
		return 0
	}
	return len(es.by) - es.removed
}

// share returns the same text, that of an entry before if it is remembered.
func (ls *Limits) share(text string) string {
	ls.sharing.Lock()
	defer ls.sharing.Unlock()
	if known, ok := ls.texts[text]; ok {
		return known
	}
	if ls.texts == nil || len(ls.texts) >= maxTexts {
		ls.texts = make(map[string]string)
	}
	text = strings.Clone(text) // it may be a part of something large
	ls.texts[text] = text
	return text
}
