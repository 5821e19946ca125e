package table

// Stats is what a table holds.
type Stats struct {
	Groups  int    // in all partitions
	Entries int    // of the limits store
	Bytes   int64  // of all arrays and entries
	Refused uint64 // takes that got ErrFull
	Closed  int    // partitions that are
	Changed int    // groups that wait for Changed
	Held    int    // groups of which something is held for checks of several keys, but for hot ones

	Leases LeaseStats
}

// Stats counts. It locks each partition in turn, for a moment.
func (t *Table) Stats() Stats {
	st := Stats{Bytes: t.bytes.Load(), Refused: t.refused.Load()}
	for i := range t.parts {
		p := &t.parts[i]
		p.mu.Lock()
		p.each(func(s *slab) { st.Groups += s.used })
		st.Entries += p.stored.len()
		if p.closed {
			st.Closed++
		}
		st.Changed += len(p.changed)
		st.Held += len(p.holds)
		st.Leases.add(p.hot)
		p.mu.Unlock()
	}
	return st
}
