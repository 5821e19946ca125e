package ownership

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// share is a bucket of the failure rule.
type share struct {
	level float64
	at    bucket.Instant
	used  time.Duration
}

// debt is what the failure rule admitted: it is subtracted where the partition is decided.
type debt struct {
	seq    int
	tokens float64
}

// byRule decides by the failure rule: by a share of the limit, if that is the rule.
func (h *host) byRule(part int) {
	members := h.m.list.members
	if h.w.cfg.unreachable == "deny" || !slices.Contains(members, h.id) {
		return
	}
	n := float64(len(members))
	j := 0.0
	for _, id := range members {
		if rank(part+1000, id) < rank(part+1000, h.id) {
			j++
		}
	}
	size := math.Floor(h.w.cfg.capacity*(j+1)/n) - math.Floor(h.w.cfg.capacity*j/n)
	rate := h.w.cfg.rate / n
	s := h.shares[part]
	if s == nil {
		s = &share{level: size, at: h.time(), used: h.w.now}
		h.shares[part] = s
		h.w.oracle.ruled[part] += size
	}
	h.w.oracle.ruled[part] += rate * fast * (h.w.now - s.used).Seconds()
	s.used = h.w.now
	s.level = min(size, s.level+rate*time.Duration(h.time()-s.at).Seconds())
	s.at = h.time()
	if s.level >= 1 {
		s.level--
		h.owe(part, 1)
		h.w.oracle.admit(part)
	}
}

// owe notes what has to be subtracted where the partition is decided.
func (h *host) owe(part int, tokens float64) {
	h.debtSeq++
	h.debts[part] = append(h.debts[part], debt{h.debtSeq, tokens})
}

// settle has the oldest debt subtracted, once.
func (h *host) settle(part int) {
	if len(h.debts[part]) == 0 {
		return
	}
	d := h.debts[part][0]
	debtor := fmt.Sprintf("%s in its life %d", h.id, h.life)
	owner, _ := h.m.Decider(h.time(), part)
	switch owner {
	case "":
	case h.id:
		if h.pay(part, debtor, d) {
			h.paid(part, d)
		}
	default:
		life := h.life
		h.w.deliver(h, owner, func(to *host) {
			if to.pay(part, debtor, d) {
				to.w.deliver(to, h.id, func(back *host) {
					if back.life == life {
						back.paid(part, d)
					}
				})
			}
		})
	}
}

// pay subtracts a debt, if it was not before, and says whether it is now.
func (h *host) pay(part int, debtor string, d debt) bool {
	if !h.decides(part) {
		return false
	}
	l := h.held[part]
	if l.settled[debtor] < d.seq {
		l.settled[debtor] = d.seq
		l.refill(h)
		l.level = max(l.level-d.tokens, -h.w.cfg.capacity)
	}
	return true
}

func (h *host) paid(part int, d debt) {
	if ds := h.debts[part]; len(ds) > 0 && ds[0].seq == d.seq {
		h.debts[part] = ds[1:]
	}
}
