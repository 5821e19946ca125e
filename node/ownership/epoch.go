package ownership

import (
	"cmp"
	"fmt"
)

// Member is one incarnation of a node: its stable id, and a number that is higher for every later one. A node that was
// given up for lost goes on as another incarnation.
type Member struct {
	ID          string
	Incarnation uint64
}

// String is for logs.
func (m Member) String() string { return fmt.Sprintf("%s#%d", m.ID, m.Incarnation) }

// Epoch numbers the times that a partition was held. A transfer raises the term by one and a take-over by two, so that
// of a move and the take-over it may run into the latter wins.
type Epoch struct {
	Term        uint64
	Incarnation uint64 // of the owner
}

// Claim is the word of a member that it holds a partition. The zero Claim is nobody's.
type Claim struct {
	Epoch
	Owner string
}

// Member is the incarnation that claims.
func (c Claim) Member() Member { return Member{c.Owner, c.Incarnation} }

// Less orders claims of one partition: the higher one stands.
func (c Claim) Less(d Claim) bool {
	return cmp.Or(cmp.Compare(c.Term, d.Term), cmp.Compare(c.Incarnation, d.Incarnation),
		cmp.Compare(c.Owner, d.Owner)) < 0
}

// String is for logs.
func (c Claim) String() string { return fmt.Sprintf("%d of %s", c.Term, c.Member()) }
