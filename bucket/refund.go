package bucket

// Refund gives tokens back, 0 to MaxTokens, to every limit at now: of a request that was admitted and came to nothing, nobody knows any
// more when. No limit gets more back than counts as taken, without what is out, so that nothing is there twice. costs are those of each
// limit, if they differ, or there are none. Of windows that have ended since nothing can come back, and a sliding window gives up first
// what it has admitted last.
func (g *Group) Refund(now Instant, out, tokens int64, costs []int64) {
	g.Refill(now, out)
	for i := range g.States {
		if len(costs) > 0 {
			tokens = costs[i]
		}
		g.RefundOne(i, tokens, out)
	}
}

// RefundOne is Refund for one limit, which has been brought up to now.
func (g *Group) RefundOne(i int, tokens, out int64) {
	l, s := &g.Limits[i], &g.States[i]
	switch {
	case l.IsLogged():
		g.Log.takeBack(s, min(tokens, l.Burst-s.Tokens-out))
	case l.isCounters():
		now := min(tokens, max(0, s.Tokens-out))
		s.Tokens -= now
		s.Frac -= min(uint64(tokens-now), s.Frac)
	default:
		most := l.Burst - out
		if l.Algorithm == Pacer {
			most = -out
		}
		if s.Tokens >= most {
			return
		}
		if s.Tokens += min(tokens, most-s.Tokens); s.Tokens == most && (l.Algorithm == TokenBucket || l.Algorithm == Pacer) {
			s.Frac = 0
		}
	}
}

// takeBack takes tokens off the newest entries of a window.
func (g *Log) takeBack(s *State, tokens int64) {
	if tokens <= 0 || s.Frac == 0 {
		return
	}
	keep, entries := -tokens, 0 // of all that is there
	for _, cost := range g.all(*s) {
		keep += cost
		entries++
	}
	before := uint32(s.Frac)
	i := g.entries[before-1].next // the oldest
	for ; keep > 0; entries-- {
		e := &g.entries[i-1]
		if cost := int64(e.cost); cost > keep {
			e.cost = uint32(keep)
			s.Tokens += cost - keep
		}
		keep -= int64(e.cost)
		before, i = i, e.next
	}
	for ; entries > 0; entries-- {
		e := g.entries[i-1]
		s.Tokens += int64(e.cost)
		g.unlink(s, before, i)
		i = e.next
	}
}
