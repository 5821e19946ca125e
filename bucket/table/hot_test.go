package table

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

const second = bucket.Instant(time.Second)

// lending is a table with one group that other nodes ask for.
type lending struct {
	t  *testing.T
	tb *Table
	g  *Group
	id bucket.ID
}

func newLending(t *testing.T, limits ...bucket.Limit) *lending {
	t.Helper()
	tb, interned := newTable(t, 4, 1<<20)
	g, err := interned.Intern(limits)
	if err != nil {
		t.Fatal(err)
	}
	return &lending{t, tb, g, bucket.ID{Hi: 1, Lo: 2}}
}

func perSecond(count, burst int64) bucket.Limit {
	return bucket.Limit{Count: count, Per: time.Second, Burst: burst}
}

func (l *lending) from(name string, now bucket.Instant) lease.Answered {
	l.t.Helper()
	a, err := l.tb.TakeFor(1, l.id, l.g, now, Asker{Name: name, Leases: true}, 1)
	if err != nil {
		l.t.Fatal(err)
	}
	return a
}

// heat asks so often that the group gets a lender, and returns when that is.
func (l *lending) heat(name string) bucket.Instant {
	l.t.Helper()
	now := second
	for range hotPerWindow + 1 {
		l.from(name, now)
		now += bucket.Instant(time.Millisecond)
	}
	if n := l.tb.Stats().Leases.Hot; n != 1 {
		l.t.Fatalf("%d groups are hot", n)
	}
	return now
}

// borrow asks for a lease, as a node with much to do.
func (l *lending) borrow(name string, seq uint64, now bucket.Instant) lease.Answer {
	l.t.Helper()
	a, ok, _ := l.tb.Lend(1, l.id, l.g, now, name, lease.Request{
		Number: lease.Number{Incarnation: 1, Seq: seq}, Demand: lease.Demand{Tokens: 500, Checks: 500},
	})
	if !ok {
		l.t.Fatal("no answer")
	}
	return a
}

func TestOftenAskedBecomesHot(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := second
	for range hotPerWindow - 1 {
		l.from("b", now)
	}
	now += 1 << windowBits // another window: counting starts afresh
	for range hotPerWindow - 1 {
		l.from("b", now)
	}
	if n := l.tb.Stats().Leases.Hot; n != 0 {
		t.Errorf("%d groups are hot below the threshold", n)
	}
	l.from("b", now)
	if n := l.tb.Stats().Leases.Hot; n != 1 {
		t.Errorf("%d groups are hot, want 1 from %d checks in %v on", n, hotPerWindow, time.Duration(1<<windowBits))
	}
	if d, _, _ := l.tb.Take(1, l.id, l.g, now, 1); d.Remaining != 1000-hotPerWindow-1 {
		t.Errorf("%d remain", d.Remaining)
	}
}

func TestWhoKeepsNoLeasesMakesNothingHot(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	for range 10 * hotPerWindow {
		a, err := l.tb.TakeFor(1, l.id, l.g, second, Asker{Name: "b"}, 1)
		if err != nil || a.Offer {
			t.Fatal(a, err)
		}
	}
	if n := l.tb.Stats().Leases.Hot; n != 0 {
		t.Errorf("%d groups are hot", n)
	}
}

// What is lent is out of the bucket for everybody, however the group is looked at.
func TestLentIsOutOfTheBucket(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	a := l.borrow("b", 1, now)
	if a.Tokens == 0 {
		t.Fatalf("%+v", a)
	}
	now += 2 * second
	a = l.borrow("b", 2, now)
	s := l.tb.Stats().Leases
	if s.Out != a.Tokens || s.Lendable != 250 || a.Tokens > 250 {
		t.Errorf("%+v after %+v", s, a)
	}
	now += second // nearly the end of its life
	if d, _, _ := l.tb.Look(1, l.id, l.g, now, 0); d.Remaining != 1000-a.Tokens {
		t.Errorf("a look sees %d, want %d less than the burst", d.Remaining, a.Tokens)
	}
	if removed := l.tb.Sweep(1, now); removed != 0 || l.tb.Stats().Leases.Hot != 1 {
		t.Errorf("a sweep removed %d groups, one of which is lent from", removed)
	}
	lent := l.tb.Lent(now)
	if len(lent) != 1 || lent[0].ID != l.id || lent[0].Out != a.Tokens {
		t.Errorf("lent: %+v", lent)
	}
	for range 1000 - a.Tokens { // the owner's own callers get the rest, and the rest alone
		if d, _, _ := l.tb.Take(1, l.id, l.g, now, 1); !d.Allowed {
			t.Fatalf("%+v", d)
		}
	}
	if d, _, _ := l.tb.Take(1, l.id, l.g, now, 1); d.Allowed {
		t.Errorf("more than the burst: %+v", d)
	}
}

// When nobody asks any more the lender goes, what was never given back burns, and the group is as any other.
func TestColdAgain(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	a := l.borrow("b", 1, now)
	now += bucket.Instant(lease.TTL) + second
	if removed := l.tb.Sweep(1, now); removed != 1 {
		t.Errorf("%d groups removed, want the one that is full again", removed)
	}
	if s := l.tb.Stats(); s.Groups != 0 || s.Leases != (LeaseStats{Burned: a.Tokens}) {
		t.Errorf("%+v, want nothing but that %d burned", s, a.Tokens)
	}
	now = l.heat("b")
	if again := l.borrow("b", 1, now); again.Lease == a.Lease || again.Tokens == 0 {
		t.Errorf("a later lender gives %+v, after %+v: ids must differ", again, a)
	}
}

// A return that comes when nothing is known of the lease makes nothing.
func TestLateReturnIsIgnored(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	r := lease.Request{Lease: lease.ID{Epoch: 1, Number: 1}, Left: 500, Close: true}
	if _, ok, _ := l.tb.Lend(1, l.id, l.g, second, "b", r); ok || l.tb.Stats().Groups != 0 {
		t.Error("a return of an unknown lease was answered, or made a group")
	}
	now := l.heat("b")
	before, _, _ := l.tb.Look(1, l.id, l.g, now, 0)
	l.tb.Lend(1, l.id, l.g, now, "b", r)
	if after, _, _ := l.tb.Look(1, l.id, l.g, now, 0); after != before {
		t.Errorf("%+v after a return of an unknown lease, %+v before", after, before)
	}
}

// A change of limits finds the tokens that are out: a smaller burst leaves the bucket below zero until they are back.
func TestLimitsChangeWhileLent(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	a := l.borrow("b", 1, now)
	smaller, err := l.tb.limits.Intern([]bucket.Limit{perSecond(10, 50)})
	if err != nil {
		t.Fatal(err)
	}
	l.g = smaller
	if d, _, _ := l.tb.Take(1, l.id, l.g, now, 1); d.Allowed {
		t.Errorf("%+v: admitted, though %d of a burst of 50 are out", d, a.Tokens)
	}
	l.tb.Lend(1, l.id, l.g, now, "b", lease.Request{Lease: a.Lease, Left: a.Tokens, Close: true})
	if d, _, _ := l.tb.Look(1, l.id, l.g, now, 0); d.Remaining != 50 {
		t.Errorf("%+v, want the whole small burst when all is back", d)
	}
}

// Groups of several limits lend by the group: what is lent is out of each.
func TestGroupIsLentWhole(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000), bucket.Limit{Count: 2000, Per: time.Minute, Burst: 2000})
	now := l.heat("b")
	a := l.borrow("b", 1, now)
	if a.Tokens == 0 {
		t.Fatalf("%+v", a)
	}
	if d, which, _ := l.tb.Look(1, l.id, l.g, now, 2000-a.Tokens); d.Allowed || which > 1 {
		t.Errorf("%+v by limit %d: more than any of them holds", d, which)
	}
	if s := l.tb.Stats().Leases; s.Out != a.Tokens {
		t.Errorf("%+v", s)
	}
}

// Holders are told when somebody waits for what only all tokens together can pay.
func TestRecallIsTold(t *testing.T) {
	var told []string
	interned := NewLimits(10)
	tb, err := New(4, 1<<20, interned, Lending{Epoch: 1, Recall: func(_ bucket.ID, holders []string) { told = append(told, holders...) }})
	if err != nil {
		t.Fatal(err)
	}
	g, err := interned.Intern([]bucket.Limit{perSecond(10, 1000)})
	if err != nil {
		t.Fatal(err)
	}
	l := &lending{t, tb, g, bucket.ID{Hi: 1, Lo: 2}}
	now := l.heat("b")
	l.borrow("b", 1, now)
	if d, _, _ := tb.Take(1, l.id, g, now, 900); d.Allowed || len(told) != 1 || told[0] != "b" {
		t.Errorf("%+v, told %q: want a denial for now, and b told", d, told)
	}
}

// Lenders that nobody needs any more make room without a sweep of the whole partition.
func TestCoolMakesRoom(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	l.tb.Cool(1, now+second)
	if n := l.tb.Stats().Leases.Hot; n != 1 {
		t.Errorf("%d groups are hot a second after it was asked for", n)
	}
	l.tb.Cool(1, now+3*second)
	if s := l.tb.Stats(); s.Leases.Hot != 0 || s.Groups != 1 {
		t.Errorf("%+v, want no lender, and the group there still", s)
	}
}
