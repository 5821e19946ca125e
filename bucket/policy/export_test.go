package policy

// ReadyKey makes a policy ready for AppendKey that is not one of a set, whose names may be any.
func ReadyKey(p *Policy) *Policy {
	p.parts = partsOf(p.Key, nil)
	return p
}
