package policy

import (
	"fmt"
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
)

// Strictness says how Redis decides a policy whose limits are Strict. The zero value is one exact call for each check.
type Strictness struct {
	// Shards, 2 to MaxShards, divide what each limit admits among so many groups in Redis, so that one hot key does not have one place in
	// a cluster. A check takes from one of them, another if that has not enough, and never more than is in one: what is left over may be
	// spread so that a request is denied which costs less than all of it. 0 and 1 are one group.
	Shards int
	// Prefetch is how many tokens a node takes at a time, 2 or more, and then decides with by itself, for a second at most; what is not used
	// is given back. No more is admitted for it, and a request may be denied for what other nodes have taken so, Prefetch at each. 0 is
	// none.
	Prefetch int64
	// WaitReplicas is how many replicas must have heard of what was taken, 1 to MaxWaitReplicas, before a check is admitted by it. 0 is
	// none.
	WaitReplicas int
	// Approximate counts windows by plain counters in place of a script, by the clock of the node: several times cheaper for Redis. No
	// window is over-admitted, but a request that is denied counts for a moment, in which others may be denied, and what nobody knows the
	// fate of may count twice.
	Approximate bool
}

// Bounds of a Strictness.
const (
	MaxShards       = 64
	MaxWaitReplicas = 16
)

var (
	strictGrammar = grammar{known: []string{"shards", "prefetch", "wait_replicas", "store"}}
	stores        = []string{"exact", "approximate"}
)

// strictness reads how Redis decides.
func (r *reader) strictness(n *yaml.Node, where string) (s Strictness) {
	m := r.mapping(n, where, strictGrammar)
	if m == nil {
		return s
	}
	if v := m.values["store"]; v != nil {
		s.Approximate = r.word(v, where, "store", stores) == 1
	}
	whole := func(field string, most int64) int64 {
		v := m.values[field]
		if v == nil || !r.is(v, yaml.ScalarNode, where+field+": ", "a count") {
			return 0
		}
		c, err := ParseCount(v.Value)
		switch {
		case err != nil:
			r.number(v, where+field+": ", err)
		case c < 1 || c > most:
			r.wrong(v, "%s%s: %d, want 1 to %d", where, field, c, most)
		}
		return c
	}
	s.Shards, s.WaitReplicas = int(whole("shards", MaxShards)), int(whole("wait_replicas", MaxWaitReplicas))
	s.Prefetch = whole("prefetch", bucket.MaxTokens)
	return s
}

// tooSlow says whether one of n shards of a token bucket can't be decided by Redis.
func tooSlow(l bucket.Limit, n int) bool {
	if l.Per > math.MaxInt64/time.Duration(n) {
		return true
	}
	l.Per *= time.Duration(n)
	return redis.WhyNot(&l) != ""
}

// wrongStrictness says what is wrong with how Redis decides.
func (p *Policy) wrongStrictness() (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, "strict: "+fmt.Sprintf(format, args...)) }
	s := &p.Strict
	if *s == (Strictness{}) {
		return nil
	}
	if some, _ := p.strictly(); !some {
		say("its limits are not strict: add consistency: strict, or leave it out")
		return wrong
	}
	switch {
	case s.Shards < 0 || s.Shards > MaxShards:
		say("%d shards, want 1 to %d", s.Shards, MaxShards)
	case s.Prefetch < 0:
		say("prefetch %d, want 1 or more", s.Prefetch)
	case s.WaitReplicas < 0 || s.WaitReplicas > MaxWaitReplicas:
		say("wait for %d replicas, want 1 to %d", s.WaitReplicas, MaxWaitReplicas)
	case s.Approximate && (s.Prefetch > 1 || s.WaitReplicas > 0):
		say("an approximate store has neither prefetch nor wait_replicas: leave them out")
	}
	look := func(limits []Limit) {
		for i, l := range limits {
			switch windows := l.Algorithm == bucket.FixedWindow || l.Algorithm == bucket.CalendarWindow; {
			case s.Shards > 1 && l.Algorithm == bucket.Pacer:
				say("limit %d is a pacer, and what it spaces would come from %d at once: leave shards out", i+1, s.Shards)
			case s.Shards > 1 && l.Algorithm == bucket.FirstHitWindow:
				say("limit %d is a first_hit_window, and each shard would begin its own: leave shards out", i+1)
			case s.Shards > 1 && l.Burst > 0 && l.Burst < int64(s.Shards):
				say("limit %d admits %d at a time, which is not one for each of %d shards", i+1, l.Burst, s.Shards)
			case s.Shards > 1 && l.Algorithm == bucket.TokenBucket && tooSlow(l.Limit, s.Shards):
				say("limit %d is too slow for %d shards: in each a token would come less often than Redis can count", i+1, s.Shards)
			case s.Prefetch > 1 && !windows && l.Algorithm != bucket.TokenBucket:
				say("limit %d is a %v, which counts when each request came: leave prefetch out", i+1, l.Algorithm)
			case s.Prefetch > 1 && l.Burst > 0 && s.Prefetch > l.Burst/int64(max(1, s.Shards)):
				say("prefetch takes %d at a time, and limit %d admits %d at a time in each shard", s.Prefetch, i+1, l.Burst/int64(max(1, s.Shards)))
			case s.Approximate && !windows:
				say("limit %d is a %v, and an approximate store has counters for windows of the clock and the calendar only: make it a fixed_window "+
					"or a quota, or leave store out", i+1, l.Algorithm)
			}
		}
	}
	look(p.Limits)
	for _, of := range p.plans() {
		for _, plan := range of.plans {
			look(plan.Limits)
		}
	}
	return wrong
}
