package node

import "fmt"

// PolicyStatus says which policies a node applies.
type PolicyStatus struct {
	// Source is given, file, shared or applied; Name is that of the file or key.
	Source   string `json:"source"`
	Name     string `json:"name,omitempty"`
	Revision uint64 `json:"revision,omitempty"` // of its own source
	// Edition is the number of the one that applies, and Digest its text's; 0 if none does.
	Edition uint64 `json:"edition,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Policies is how many there are.
	Policies int `json:"policies"`
	// Overruled is the source whose policies do not apply because an edition does.
	Overruled string `json:"overruled,omitempty"`
	// Error says what is wrong with the node's own source.
	Error string `json:"error,omitempty"`
}

// short says which policies they are, for a table.
func (s PolicyStatus) short() string {
	switch {
	case s.Edition != 0:
		return fmt.Sprintf("edition %v", &Edition{Number: s.Edition, Digest: s.Digest})
	case s.Policies == 0:
		return "none"
	case s.Name == "":
		return s.Source
	}
	return s.Source + " " + s.Name
}

// PolicyStatus returns this node's. Safe for concurrent use.
func (n *Node) PolicyStatus() PolicyStatus {
	b := n.book.Load()
	s := PolicyStatus{Source: b.from.Kind.String(), Name: b.from.Name, Revision: b.from.Revision, Policies: b.set.Len()}
	n.editions.mu.Lock()
	defer n.editions.mu.Unlock()
	if e := n.editions.newest.Load(); e != nil && !e.Withdrawn {
		s.Revision, s.Edition, s.Digest = 0, e.Number, e.Digest
		if n.editions.own.Len() > 0 {
			s.Overruled = n.editions.from.Kind.String() + " " + n.editions.from.Name
		}
	}
	if n.editions.failure != nil {
		s.Error = n.editions.failure.Error()
	}
	return s
}
