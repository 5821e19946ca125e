package lease

import (
	"fmt"
	"slices"
	"testing"

	"github.com/drossel-dev/drossel/bucket"
)

// TestMaxRequesters: so many are known at most, and the one not heard of for longest makes room.
func TestMaxRequesters(t *testing.T) {
	l := lendsAt(sec, thousand)
	for i := range MaxRequesters {
		l.Check(&l.g, sec+bucket.Instant(i), fmt.Sprint(i), rate(1), 0)
	}
	l.Check(&l.g, sec+99, "0", rate(1), 0)
	l.Check(&l.g, sec+100, "new", rate(1), 0)
	var known []string
	for _, h := range l.Holdings(sec + 100) {
		known = append(known, h.Node)
	}
	slices.Sort(known)
	has := func(name string) bool { return slices.Contains(known, name) }
	if len(known) != MaxRequesters || has("1") || !has("0") || !has("new") {
		t.Errorf("%d are known: %q", len(known), known)
	}
}

// TestForgotten: what a requester that made room has on lease stays in the ledger, and comes back.
func TestForgotten(t *testing.T) {
	l := lendsAt(sec, thousand)
	a := l.asks(sec, "first", rate(1000))
	for i := range MaxRequesters {
		l.Check(&l.g, sec+1, fmt.Sprint(i), rate(1), 0)
	}
	if l.Held("first") != a.Tokens || a.Tokens == 0 || !slices.Equal(l.Holders(), []string{"first"}) {
		t.Errorf("%d of %d held by %q", l.Held("first"), a.Tokens, l.Holders())
	}
	l.renews(sec+1, "first", Request{Lease: a.Lease, Left: a.Tokens, Close: true})
	if l.Out() != 0 || l.g.States[0].Tokens != 1000 {
		t.Errorf("%d out, %d in the bucket", l.Out(), l.g.States[0].Tokens)
	}
}

// TestPresent: a requester counts for as long as it would be heard of, and longer if it was told to wait.
func TestPresent(t *testing.T) {
	l := lendsAt(sec, perSec(10, 20))
	l.Check(&l.g, sec, "a", rate(1), 1)
	if n := len(l.Holdings(sec + 400*ms - 1)); n != 1 {
		t.Errorf("%d", n)
	}
	if n := len(l.Holdings(sec + 400*ms)); n != 0 {
		t.Errorf("%d after silence", n)
	}
	l.drain(sec, 0)
	if a := l.Check(&l.g, sec, "a", rate(1), 15); a.Deny.For != DenyMax {
		t.Fatalf("%+v", a)
	}
	if n := len(l.Holdings(sec + 1400*ms - 1)); n != 1 {
		t.Errorf("%d, and it was told to wait", n)
	}
	if n := len(l.Holdings(sec + 1400*ms)); n != 0 {
		t.Errorf("%d after it should have come", n)
	}
}

// TestCold: a lender is kept while half of what makes a group worth one is asked, two seconds longer, and while
// anything is out.
func TestCold(t *testing.T) {
	l := lendsAt(sec, thousand)
	if l.Cold(3*sec-1) || !l.Cold(3*sec) {
		t.Error("a lender that nobody asks")
	}
	l.Check(&l.g, 3*sec, "a", rate(12), 0)
	if !l.Cold(3 * sec) {
		t.Error("too little is asked")
	}
	l.Check(&l.g, 3*sec, "b", rate(13), 0)
	if l.Cold(5*sec-1) || !l.Cold(5*sec) {
		t.Error("enough is asked of two")
	}
	a := l.asks(5*sec, "a", rate(1000))
	l.Refill(&l.g, 7*sec)
	if l.Cold(7 * sec) {
		t.Error("with a lease out")
	}
	l.renews(7*sec, "a", Request{Lease: a.Lease, Left: a.Tokens, Close: true})
	if !l.Cold(7 * sec) {
		t.Error("after it came back")
	}
}

// TestAdopt: a smaller limit cuts at once, below zero if more than it is out; the debt is paid as time passes.
func TestAdopt(t *testing.T) {
	tests := []struct {
		name  string
		to    bucket.Limit
		level int64 // at once
		later int64 // two seconds later, when all that is out is spent
	}{
		{"larger", perSec(1000, 2000), 450, 2000},
		{"the same", thousand, 450, 1000},
		{"smaller, above what is there", perSec(1000, 800), 450, 800},
		{"below what is there and out", perSec(1000, 500), 250, 500},
		{"below what is out", perSec(100, 100), -150, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := lendsAt(sec, thousand)
			a := l.asks(sec, "a", rate(5000))
			if a.Tokens != 250 {
				t.Fatalf("%d lent", a.Tokens)
			}
			l.drain(sec, 450)
			l.Adopt(&l.g, []bucket.Limit{tt.to}, sec)
			l.g.Limits = []bucket.Limit{tt.to}
			if got := l.g.States[0].Tokens; got != tt.level {
				t.Errorf("%d at once, want %d", got, tt.level)
			}
			if got := l.g.States[0].Tokens + l.Out(); got > max(tt.to.Burst, 0) {
				t.Errorf("I1: %d with what is out", got)
			}
			if l.Lendable() != tt.to.Burst/lendPart {
				t.Errorf("%d may be lent", l.Lendable())
			}
			l.Refill(&l.g, sec)
			if d, _ := l.g.Look(sec, 1); d.Allowed != (tt.level > 0) || d.Remaining != max(0, tt.level) {
				t.Errorf("%+v", d)
			}
			if tt.level < 0 { // nobody is lent any until the debt is paid
				if b := l.asks(sec, "b", rate(1000)); b.Tokens != 0 {
					t.Errorf("%d lent of less than nothing", b.Tokens)
				}
			}
			l.renews(sec, "a", Request{Lease: a.Lease, Spent: a.Tokens, Close: true})
			l.Refill(&l.g, 3*sec)
			if got := l.g.States[0].Tokens; got != tt.later {
				t.Errorf("%d two seconds later, want %d", got, tt.later)
			}
		})
	}
}

// TestNewID: the leases of a lender come after those of the lender before.
func TestNewID(t *testing.T) {
	l := NewLender([]bucket.Limit{thousand}, ID{Epoch: 3, Number: 9}, sec)
	a, _ := l.Renew(&bucket.Group{Limits: []bucket.Limit{thousand}, States: []bucket.State{bucket.Full(&thousand, sec)}}, sec, "a",
		Request{Number: number(1), Demand: rate(100)})
	if a.Lease != (ID{3, 10}) || l.Last != a.Lease || l.Renewals() != 1 {
		t.Errorf("lease %v, last %v", a.Lease, l.Last)
	}
}
