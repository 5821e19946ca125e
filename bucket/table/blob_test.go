package table

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// golden is a partition with something of each kind: two plain groups, one of two limits in debt, and a hot one, lost by
// its owner half a second ago.
func golden(t testing.TB) (tb *Table, ids []bucket.ID, now bucket.Instant) {
	t.Helper()
	tb, ls := newTable(t, 1, 1<<20)
	plain := intern(t, ls, bucket.Limit{Count: 600, Per: time.Minute, Burst: 50})
	pair := intern(t, ls, bucket.Limit{Count: 7, Per: time.Hour, Burst: 300, OwnerLoss: bucket.LossFull}, bucket.Limit{Burst: 5})
	tb.TakenOver(0, second)
	now = second + second/2
	ids = []bucket.ID{{Hi: 0x0102030405060708, Lo: 0x1112131415161718}, {Hi: 1, Lo: 2}, {Hi: 3, Lo: 4}, {Hi: 1 << 63, Lo: 5}, {Hi: 6, Lo: 7}, {Hi: 8, Lo: 9}}
	tb.Take(0, ids[0], plain, now-second/100, 20)
	tb.Take(0, ids[1], plain, now, 1)
	if err := tb.Debit(0, ids[2], pair, second, 8); err != nil {
		t.Fatal(err)
	}
	for range hotPerWindow + 1 {
		if _, err := tb.TakeFor(0, ids[3], plain, now, Asker{Name: "node-b", Leases: true}, 1); err != nil {
			t.Fatal(err)
		}
	}
	r := lease.Request{Number: lease.Number{Incarnation: 7, Seq: 300}, Demand: lease.Demand{Tokens: 60, Checks: 60}}
	if _, _, err := tb.Lend(0, ids[3], plain, now, "node-b", r); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"few", ""} {
		if _, err := tb.SetEntry(0, Entry{ids[4+i], 300, text}, false, now); err != nil {
			t.Fatal(err)
		}
	}
	return tb, ids, now
}

const goldenHex = "04" + "01" + "80cab5ee01" + // version; lost 0.5 s ago
	"00" + "00" + "00" + "01" + "0000" + "32" + "80c2d72f" + "01" + // limits 0, of no version and by no entry: a token bucket, replica, 50, in 100 ms 1
	"01020304050607081112131415161718" + "3c" + "80ade204" +
	"00" + "00000000000000010000000000000002" + "62" + "00" +
	"04" + "00" + "00" + "02" + "0002" + "ac02" + "80c0e285e368" + "07" + "0000" + "05" + "00" + "00" + // limits 1: full, 300, in an hour 7; 5
	"00000000000000030000000000000004" + "c804" + "8086f7840d" + "05" + "00" +
	"01" + "80000000000000000000000000000005" + "1a" + "00" + // hot: 13 left, and the ledger
	"01" + "066e6f64652d62" + "0a" + "a081bdd707" + "00" + "8180808010" + "07" + "ac02" + "0a" + "80a8d6b907" +
	"00" + "0000" + "00" + "00" + "00" + "00" + "00" +
	"02" + "03666577" + "00000000000000060000000000000007" + "ac02" + // text 0
	"06" + "00" + "00000000000000080000000000000009" + "ac02" // text 1: removed

// TestBlobGolden: the bytes stay as they are, for nodes of two versions exchange them.
func TestBlobGolden(t *testing.T) {
	tb, ids, now := golden(t)
	blob, taken := tb.Export(0, ids, now, []byte("before"), 1<<10)
	if taken != len(ids) || string(blob[:6]) != "before" {
		t.Fatalf("%d of %d taken, after %q", taken, len(ids), blob[:6])
	}
	if got := hex.EncodeToString(blob[6:]); got != goldenHex {
		t.Errorf("written as\n%s, want\n%s", got, goldenHex)
	}
	to, _ := newTable(t, 1, 1<<20)
	to.Close(0)
	const there = 1000 * second
	if err := to.Import(0, blob[6:], there); err != nil {
		t.Fatal(err)
	}
	again, _ := to.Export(0, ids, there, nil, 1<<10)
	if string(again) != string(blob[6:]) {
		t.Errorf("read and written again as\n%x, want\n%x", again, blob[6:])
	}
	if got, want := to.Stats(), tb.Stats(); got.Groups != want.Groups || got.Entries != 1 || got.Leases.Hot != 1 || got.Leases.Out != want.Leases.Out {
		t.Errorf("%+v, want what is in %+v", got, want)
	}
}

// A blob ends where it would grow too long, and the rest follows in others.
func TestExportInParts(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	one, two := intern(t, ls, tenPerHour), intern(t, ls, tenPerHour, tenPerHour)
	var ids []bucket.ID
	for k := range uint64(1000) {
		tb.Take(0, idOf(2*k), []*Group{one, two}[k%2], second, 3)
		ids = append(ids, idOf(2*k), idOf(2*k+1)) // every other one is unknown
	}
	for _, most := range []int{0, 100, 5000, 1 << 20} {
		to, _ := newTable(t, 1, 1<<20)
		to.Close(0)
		blobs := 0
		for rest := ids; len(rest) > 0; blobs++ {
			blob, taken := tb.Export(0, rest, second, make([]byte, 7), most)
			if most > 0 && len(blob)-7 > most || taken < 1 {
				t.Fatalf("%d bytes, %d taken; want %d bytes at most", len(blob)-7, taken, most)
			}
			if err := to.Import(0, blob[7:], second); err != nil {
				t.Fatal(err)
			}
			rest = rest[taken:]
		}
		if got, want := sorted(to.IDs(0, nil)), sorted(tb.IDs(0, nil)); !slices.Equal(got, want) || len(got) != 1000 {
			t.Errorf("%d groups arrived of %d, in %d blobs of %d bytes", len(got), len(want), blobs, most)
		}
		if most == 1<<20 && blobs != 1 || most == 0 && blobs < 1000 {
			t.Errorf("%d blobs of %d bytes", blobs, most)
		}
	}
}

// What is imported takes the place of what was there, limits and lender too.
func TestImportReplaces(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	plain, _ := newTable(t, 4, 1<<20)
	g := intern(t, plain.limits, tenPerHour)
	plain.Take(1, l.id, g, now, 4)
	blob, _ := plain.Export(1, []bucket.ID{l.id}, now, nil, 1<<10)
	l.tb.Track(1, true)
	if err := l.tb.Import(1, blob, now); err != nil {
		t.Fatal(err)
	}
	l.changed("imported", l.id)
	mine := intern(t, l.tb.limits, tenPerHour)
	if d, _, _ := l.tb.Look(1, l.id, mine, now, 1); d.Remaining != 6 {
		t.Errorf("%+v", d)
	}
	if s := l.tb.Stats(); s.Groups != 1 || s.Leases.Hot != 0 || l.tb.hot.Load() != 0 || l.g.refs.Load() != 1 || mine.refs.Load() != 2 {
		t.Errorf("%+v, %d hot, %d and %d users of the limits", s, l.tb.hot.Load(), l.g.refs.Load(), mine.refs.Load())
	}
	if d, _, err := l.tb.Take(1, l.id, mine, now, 7); err != nil || d.Allowed {
		t.Errorf("%+v %v", d, err)
	}
	full, _ := plain.Export(1, []bucket.ID{l.id}, now+10*3600*second, nil, 1<<10) // as if much time had passed there
	if err := l.tb.Import(1, full, now); err != nil {
		t.Fatal(err)
	}
	if d, _, _ := l.tb.Look(1, l.id, mine, now, 1); d.Remaining != 10 {
		t.Errorf("%+v, want it to be full as it is there", d)
	}
	if err := l.tb.Import(2, full, now); err != nil || l.tb.IDs(2, nil) != nil {
		t.Errorf("a full group was made: %v", err)
	}
}

// A hot group comes hot though there are as many hot ones as there may be, for its leases must not be forgotten.
func TestImportIsHotBeyondTheBound(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	out := l.borrow("b", 1, now).Tokens
	blob, _ := l.tb.Export(1, []bucket.ID{l.id}, now, nil, 1<<10)
	to, err := New(4, 1<<20, l.tb.limits, Lending{})
	if err != nil {
		t.Fatal(err)
	}
	to.hot.Store(maxHot)
	if err := to.Import(1, blob, now); err != nil {
		t.Fatal(err)
	}
	if s := to.Stats().Leases; s.Hot != 1 || s.Out != out || to.hot.Load() != maxHot+1 {
		t.Errorf("%+v, %d counted, want the lease of %d", s, to.hot.Load(), out)
	}
}

// Without room the rest arrives all the same, and the error says how much did not.
func TestImportFindsNoRoom(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	var ids []bucket.ID
	for k := range uint64(100) {
		g := intern(t, ls, bucket.Limit{Burst: int64(10 + k%3)})
		tb.Take(0, idOf(k), g, second, 3)
		ids = append(ids, idOf(k))
	}
	blob, _ := tb.Export(0, ids, second, nil, 1<<20)

	small, _ := newTable(t, 1, 64*int64(slotBytes(1)))
	err := small.Import(0, blob, second)
	if n := small.Stats().Groups; !errors.Is(err, ErrFull) || n < 40 || n > 64 {
		t.Errorf("%d groups arrived: %v", n, err)
	}
	few := NewLimits(2)
	crowded, err := New(1, 1<<20, few, Lending{})
	if err != nil {
		t.Fatal(err)
	}
	err = crowded.Import(0, blob, second)
	if n := crowded.Stats().Groups; !errors.Is(err, ErrTooManyLimits) || n != 67 {
		t.Errorf("%d groups arrived, want those of two of three limits: %v", n, err)
	}
	if crowded.Clear(0); few.Len() != 0 {
		t.Errorf("%d limits are still in use", few.Len())
	}
}

// Levels are kept to what there can be, whatever a blob says.
func TestImportClamps(t *testing.T) {
	head := []byte{blobVersion, 0, 0, 0, 0, 1, 0, 0, 10, 0, 0} // limits: 10, never refilled
	for level, want := range map[int64]int64{-1 << 60: -2 * bucket.MaxTokens, -11: -11, -10: -10, 3: 3, 10: 10, 11: 10, 1 << 60: 10} {
		tb, ls := newTable(t, 1, 1<<20)
		g := intern(t, ls, bucket.Limit{Burst: 10})
		tb.Take(0, bucket.ID{}, g, second, 1)
		blob := append(slices.Clone(head), make([]byte, 16)...)
		blob = append(binary.AppendVarint(blob, level), 0)
		if err := tb.Import(0, blob, second); err != nil {
			t.Fatal(err)
		}
		if got := load(tb.parts[0].one.find(bucket.ID{}), 0); got != (bucket.State{Tokens: want, Last: second}) {
			t.Errorf("level %d is taken as %+v, want %d", level, got, want)
		}
	}
}

func TestBlobMalformed(t *testing.T) {
	id := string(make([]byte, 16))
	head := string([]byte{blobVersion, 0})
	limits := head + "\x00\x00\x00" // number 0, of no version, by no entry
	for name, blob := range map[string]string{
		"nothing":                      "",
		"another version":              "\x01\x00",
		"no word of a loss":            string([]byte{blobVersion, 2}),
		"unknown limits":               head + "\x04" + id + "\x00\x00",
		"no limits":                    limits + "\x00" + id,
		"too many limits":              limits + "\x11",
		"a limit without a period":     limits + "\x01\x00\x00\x05\x00\x01" + id + "\x00\x00",
		"a limit that is not reduced":  limits + "\x01\x00\x00\x05\x02\x02" + id + "\x00\x00",
		"an unknown rule":              limits + "\x01\x00\x03\x05\x01\x01" + id + "\x00\x00",
		"an unknown algorithm":         limits + "\x01\x06\x00\x05\x01\x01" + id + "\x00\x00",
		"an unknown time zone":         limits + "\x01\x05\x00\x05\x05\x03\x01x" + id + "\x00\x00",
		"more than a part of a token":  limits + "\x01\x00\x00\x05\x07\x01" + id + "\x00\x07",
		"a part of what never refills": limits + "\x01\x00\x00\x05\x00\x00" + id + "\x00\x01",
		"a log out of order":           limits + "\x01\x02\x00\x05\x07" + id + "\x02\x01\x01\x02\x01",
		"a log of too many tokens":     limits + "\x01\x02\x00\x05\x07" + id + "\x01\x01\xff\xff\x01",
		"a log that ends early":        limits + "\x01\x02\x00\x05\x07" + id + "\x03\x01\x01",
		"a hot group without a ledger": head + "\x01\x00\x00\x01\x00\x00\x05\x07\x01" + id + "\x00\x00",
		"something unknown":            head + "\x03",
		"an unknown text":              head + "\x06" + id + "\x01",
		"a text that ends early":       head + "\x02\x05abc",
		"a text that is too long":      head + "\x02\x81\x10" + strings.Repeat("x", MaxEntryBytes+1) + id + "\x01",
	} {
		tb, _ := newTable(t, 1, 1<<20)
		if err := tb.Import(0, []byte(blob), second); !errors.Is(err, ErrBlob) || strings.Contains(err.Error(), "version") != (name == "another version") {
			t.Errorf("%s: %v", name, err)
		}
	}
	tb, ids, now := golden(t)
	blob, _ := tb.Export(0, ids, now, nil, 1<<10)
	for n := range blob {
		to, _ := newTable(t, 1, 1<<20)
		err := to.Import(0, blob[:n], now)
		if groups := len(to.IDs(0, nil)); err == nil && groups == len(ids) || err != nil && !errors.Is(err, ErrBlob) {
			t.Errorf("%d bytes of %d: %d groups, %v", n, len(blob), groups, err)
		}
		if to.Clear(0); to.limits.Len() != 0 {
			t.Errorf("%d bytes of %d: limits are left in use", n, len(blob))
		}
	}
}

// TestBlobRoundTrip: what is exported, imported at the same moment and exported again is the same.
func TestBlobRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rules := []bucket.OwnerLoss{bucket.LossReplica, bucket.LossEmpty, bucket.LossFull}
		c := newCluster(rt, t, drawLimits(rt, rules...), drawLimits(rt, rules...), drawLimits(rt, rules...))
		if rapid.Bool().Draw(rt, "lost") {
			c.at.TakenOver(clusterPart, c.now)
		}
		c.steps(60)
		for key, g := range c.groups {
			tokens := rapid.Int64Range(0, 1000).Draw(rt, "debit")
			if err := c.at.Debit(clusterPart, idOf(uint64(key)), g, c.now, tokens); err != nil {
				rt.Fatal(err)
			}
		}
		for range 2 {
			c.copyOf(c.at.IDs(clusterPart, nil), rapid.SampledFrom([]int{0, 1 << 19}).Draw(rt, "maxBytes"))
			c.sameGroups()
			c.wait(3 * time.Second)
			c.sameGroups() // and stays it
		}
	})
}

// FuzzImport: whatever comes, the table is in order afterwards, and what is in it makes a blob again.
func FuzzImport(f *testing.F) {
	tb, ids, now := golden(f)
	blob, _ := tb.Export(0, ids, now, nil, 1<<10)
	f.Add(blob)
	f.Add([]byte{blobVersion, 0})
	f.Fuzz(func(t *testing.T, blob []byte) {
		tb, ls := newTable(t, 1, 1<<14)
		if err := tb.Import(0, blob, second); err != nil {
			if !errors.Is(err, ErrBlob) && !errors.Is(err, ErrFull) && !errors.Is(err, ErrTooManyLimits) {
				t.Fatal(err)
			}
		}
		p := &tb.parts[0]
		p.eachSlot(func(w []uint64) {
			g, out := ls.at(unpack(w[2])), int64(0)
			if isHot(w[2]) {
				out = p.hot.at[place(w[2])].Out()
			}
			for i, l := range g.limits {
				s := load(w, i)
				if p.loss.reserved && !startsEmpty(&l) {
					out = 0
				}
				// A level may be far below nothing, since the limit was lowered. Of windows Frac is which one it is.
				parts := l.Algorithm == bucket.TokenBucket || l.Algorithm == bucket.Pacer
				if s.Tokens > l.Burst-out || s.Tokens < min(-2*bucket.MaxTokens, l.Burst-out) || parts && s.Frac != 0 && s.Frac >= uint64(l.Per) {
					t.Fatalf("%+v of %+v, %d out", s, l, out)
				}
			}
		})
		ids := tb.IDs(0, nil)
		again, taken := tb.Export(0, ids, second, nil, 1<<30)
		to, _ := newTable(t, 1, 1<<20)
		if err := to.Import(0, again, second); err != nil || taken != len(ids) {
			t.Fatalf("%d of %d groups: %v", taken, len(ids), err)
		}
		if got, want := to.Stats().Leases, tb.Stats().Leases; got.Hot != want.Hot || got.Out != want.Out {
			t.Fatalf("%+v is out, was %+v", got, want)
		}
		for _, at := range []bucket.Instant{second, 1 << 40, 1 << 62} {
			tb.Sweep(0, at)
		}
		tb.Clear(0)
		if ls.Len() != 0 || tb.Stats().Bytes != 0 {
			t.Fatalf("%d limits and %d bytes are left", ls.Len(), tb.Stats().Bytes)
		}
	})
}
