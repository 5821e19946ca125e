package node

import (
	"slices"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/node/ownership"
)

// shelves are the places where a node has groups: what it holds, the copies it keeps for other owners, and what is staged
// on its way here. Beside the groups lies what was settled in them.
type shelves [3]shelf

// place names a shelf.
type place uint8

const (
	held place = iota
	kept
	staged
)

type shelf struct {
	table   *table.Table
	settled []paidOff // by partition
}

// paidOff says up to which of each debtor's settlements have been applied to a partition, so that none is twice. It
// travels with the groups.
type paidOff []ownership.Settlement

// maxDebtors bounds the debtors that are remembered for a partition: the one longest not heard of makes room.
const maxDebtors = 256

func newShelves(n *Node) (s shelves) {
	for i, t := range []*table.Table{n.owned, n.copies, n.arriving} {
		s[i] = shelf{t, make([]paidOff, n.cfg.Ring.Partitions)}
	}
	return s
}

// move moves a partition from one shelf to another, where it replaces what was there.
func (s *shelves) move(part int, from, to place) {
	if err := s[from].table.Move(part, s[to].table); err != nil {
		panic(err) // all are of one make
	}
	s[to].settled[part] = s[from].settled[part]
	s[from].settled[part] = nil
}

func (s *shelves) clear(part int, on place) {
	s[on].table.Clear(part)
	s[on].settled[part] = nil
}

// put puts groups onto a shelf. It is only when the last of several is in that they are of use.
func (s *shelves) put(part int, on place, blob []byte, now bucket.Instant) error {
	return s[on].table.Import(part, blob, now)
}

// news says that a settlement has not been applied yet, and notes that it is.
func (s *paidOff) news(debtor string, seq uint64) bool {
	i := slices.IndexFunc(*s, func(p ownership.Settlement) bool { return p.Debtor == debtor })
	if i >= 0 {
		p := (*s)[i]
		if seq <= p.Seq {
			return false
		}
		*s = slices.Delete(*s, i, i+1)
	} else if len(*s) == maxDebtors {
		*s = slices.Delete(*s, 0, 1)
	}
	*s = append(*s, ownership.Settlement{Debtor: debtor, Seq: seq})
	return true
}
