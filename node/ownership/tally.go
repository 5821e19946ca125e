package ownership

import "math"

// Tally counts partitions.
type Tally struct {
	// Open, Claimed, Frozen and Copies are those of which this node has that; the rest it has nothing of.
	Open, Claimed, Frozen, Copies int
	// Uncopied are those held here of which no other node has confirmed a copy.
	Uncopied int
	// Unclaimed are those that nobody is known to hold.
	Unclaimed int
	// LowestTerm and HighestTerm are of the claims known; 0 if there are none.
	LowestTerm, HighestTerm uint64
}

// Tally returns the counts of now. It allocates nothing.
func (m *Machine) Tally() (t Tally) {
	t.LowestTerm = math.MaxUint64
	for part := range m.parts {
		p := &m.parts[part]
		switch p.here() {
		case HereOpen:
			t.Open++
		case HereClaimed:
			t.Claimed++
		case HereFrozen:
			t.Frozen++
		case HereCopy:
			t.Copies++
		}
		if p.held != nil && p.held.replica.at.ID == "" {
			t.Uncopied++
		}
		if p.known.Owner == "" {
			t.Unclaimed++
			continue
		}
		t.LowestTerm, t.HighestTerm = min(t.LowestTerm, p.known.Term), max(t.HighestTerm, p.known.Term)
	}
	if t.Unclaimed == len(m.parts) {
		t.LowestTerm = 0
	}
	return t
}
