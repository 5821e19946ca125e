package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
)

const storedText = `policies:
  api:
    key: [user]
    limits: [{rate: 1/d, burst: 10}]
    tiers: {gold: {limits: [{rate: 1/d, burst: 1000}]}, internal: {unlimited: true}}
    overrides: {vip: {unlimited: true}}
  both: {key: [user], limits: [{rate: 1/d, burst: 20}], with: [api]}
  place: {key: [tenant, "user|device"], limits: [{rate: 1/d, burst: 5}]}
`

// store sets what a key has.
func store(t testing.TB, n *Node, key, text string) policy.KeyResult {
	t.Helper()
	r := n.SetLimits(t.Context(), []policy.KeyLimits{{Policy: "api", Key: key, Text: text}})[0]
	if r.Err != nil {
		t.Fatalf("%s at %s: %v", text, n.Name(), r.Err)
	}
	return r
}

// TestStoredLimits: whatever node they are set at, the very next check at any node goes by them, and what was taken stays taken.
func TestStoredLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, set(t, storedText), time.Millisecond)
		for i, asker := range nodes {
			for j, setter := range nodes {
				key := keyOf(t, nodes[(i+j)%3], "api", fmt.Sprint(i, j, " "))
				limit := func(want int64, left int64) {
					t.Helper()
					for _, n := range []*Node{asker, setter, nodes[0]} {
						d := check(t, n, policy.Request{Policy: "api", Key: key, CheckOnly: true})
						if d.Limit != want || d.Remaining != left || d.Degraded {
							t.Fatalf("at %s: %+v, want %d of %d", n.Name(), d, left, want)
						}
					}
				}
				limit(10, 10)
				check(t, asker, policy.Request{Policy: "api", Key: key, Cost: 3})
				store(t, setter, key, `{"tier": "gold"}`)
				limit(1000, 7)
				check(t, asker, policy.Request{Policy: "api", Key: key, Cost: 2})
				store(t, setter, key, `{"limits": [{"rate": "1/d", "burst": 4}]}`)
				limit(4, 4)
				check(t, asker, policy.Request{Policy: "api", Key: key, Cost: 1})
				store(t, setter, key, `{"limits": [{"rate": "1/d", "burst": 10}]}`) // as the policy's, but its own
				limit(10, 3)
				store(t, setter, key, "")
				limit(10, 3)
				k, at, err := asker.Limits(t.Context(), policy.KeyLimits{Policy: "api", Key: key})
				if err != nil || k.Text != "" || at.Owner != nodes[(i+j)%3].Name() || at.Number == 0 {
					t.Errorf("%+v, %+v, %v, want nothing any more", k, at, err)
				}
			}
		}
		if n := nodes[0].Stats().Limits; n > 20 {
			t.Errorf("%d groups of limits in memory", n)
		}
	})
}

// TestStoredInBatches: the checks of a batch go by what their keys have, from the first one on.
func TestStoredInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, set(t, storedText), time.Millisecond)
		for i, asker := range nodes {
			var reqs []policy.Request
			want := make(map[string]int64)
			for j, owner := range nodes {
				for k, text := range []string{`{"tier":"gold"}`, `{"limits":[{"rate":"1/d","burst":7}]}`, `{"unlimited":true}`, ""} {
					key := keyOf(t, owner, "api", fmt.Sprint(i, j, k, " "))
					want[key] = []int64{1000, 7, 0, 10}[k]
					if text != "" {
						store(t, nodes[j], key, text)
					}
					reqs = append(reqs, policy.Request{Policy: "api", Key: key}, policy.Request{Policy: "api", Attributes: attributes{"user": key}})
				}
			}
			for round := range int64(2) {
				lowest := make(map[string]int64)
				for j, r := range asker.CheckBatch(t.Context(), reqs) {
					key := cmp.Or(reqs[j].Key, reqs[j].Attributes["user"])
					d, limit := r.Decision, want[key]
					if r.Err != nil || !d.Allowed || d.Degraded || d.Limit != limit || (limit == 0) != (d.DecidedBy == policy.Exempt) {
						t.Errorf("%v: %+v, %v, want a limit of %d", reqs[j], d, r.Err, limit)
					}
					if was, seen := lowest[key]; !seen || d.Remaining < was {
						lowest[key] = d.Remaining
					}
				}
				for key, left := range lowest {
					if limit := want[key]; limit > 0 && left != limit-2*(round+1) {
						t.Errorf("round %d: %d of %d are left", round, left, limit)
					}
				}
			}
		}
	})
}

// TestStoredUnlimited: nothing limits a key that is unlimited, and within a moment of a change that counts everywhere.
func TestStoredUnlimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, set(t, storedText), time.Millisecond)
		for _, text := range []string{`{"unlimited": true}`, `{"tier": "internal"}`} {
			key := keyOf(t, nodes[1], "api", text)
			store(t, nodes[0], key, text)
			for _, n := range nodes {
				for range 100 {
					if d := check(t, n, policy.Request{Policy: "api", Key: key}); !d.Allowed || d.DecidedBy != policy.Exempt || d.Policy != "api" {
						t.Fatalf("%+v", d)
					}
				}
				for range 15 { // of both is left what is not unlimited
					check(t, n, policy.Request{Policy: "both", Key: key})
				}
				if d := check(t, n, policy.Request{Policy: "both", Key: key, CheckOnly: true}); d.Policy != "both" || d.Remaining > 5 {
					t.Errorf("with another policy: %+v", d)
				}
			}
			store(t, nodes[0], key, `{"limits": [{"rate": "1/d", "burst": 2}]}`)
			if d := check(t, nodes[1], policy.Request{Policy: "api", Key: key, CheckOnly: true}); d.Limit != 2 {
				t.Errorf("at the owner: %+v", d)
			}
			time.Sleep(unlimitedFor + time.Millisecond)
			for _, n := range nodes {
				if d := check(t, n, policy.Request{Policy: "api", Key: key, CheckOnly: true}); d.Limit != 2 {
					t.Errorf("at %s: %+v", n.Name(), d)
				}
			}
		}
	})
}

// TestStoredOfSeveralKeys: a check of several policies goes by what each of its keys has.
func TestStoredOfSeveralKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, set(t, storedText), time.Millisecond)
		for i, n := range nodes {
			key := keyOf(t, nodes[(i+1)%3], "api", fmt.Sprint("k", i))
			for range 3 {
				check(t, n, policy.Request{Policy: "both", Key: key})
			}
			store(t, n, key, `{"limits": [{"rate": "1/d", "burst": 5}]}`)
			allowed := 0
			for range 10 {
				d := check(t, n, policy.Request{Policy: "both", Key: key})
				if d.Allowed {
					allowed++
				} else if d.Policy != "api" || d.Limit != 5 {
					t.Errorf("%+v, want a denial by the key's own limit", d)
				}
			}
			if allowed != 5 {
				t.Errorf("%d allowed, want 5", allowed)
			}
			if left := check(t, n, policy.Request{Policy: "both", Key: key, CheckOnly: true}); left.Allowed {
				t.Errorf("%+v", left)
			}
			if r := nodes[0].SetLimits(t.Context(), []policy.KeyLimits{{Policy: "both", Key: key, Text: `{"limits":[{"rate":"1/d","burst":9}]}`}}); r[0].Err != nil {
				t.Error(r[0].Err)
			}
			store(t, n, key, `{"tier": "gold"}`)
			for range 20 {
				if d := check(t, n, policy.Request{Policy: "both", Key: key}); !d.Allowed && (d.Policy != "both" || d.Limit != 9) && d.Policy != "api" {
					t.Errorf("%+v", d)
				}
			}
		}
	})
}

func TestStoredIsRefused(t *testing.T) {
	n := start(t, Config{Policies: set(t, storedText)})
	for _, c := range []struct {
		k    policy.KeyLimits
		want error
		text string
	}{
		{policy.KeyLimits{Policy: "apo", Key: "ann", Text: `{"tier":"gold"}`}, policy.ErrUnknownPolicy, "api"},
		{policy.KeyLimits{Policy: "api", Text: `{"tier":"gold"}`}, policy.ErrInvalid, "user"},
		{policy.KeyLimits{Policy: "api", Parts: []string{"a", "b"}, Text: `{"tier":"gold"}`}, policy.ErrInvalid, "2"},
		{policy.KeyLimits{Policy: "api", Key: "ann", Text: `{"tier":"glod"}`}, policy.ErrInvalid, `did you mean "gold"`},
		{policy.KeyLimits{Policy: "api", Key: "ann", Text: `{"limits":[{"rate":"5/fortnight"}]}`}, policy.ErrInvalid, "fortnight"},
		{policy.KeyLimits{Policy: "place", Key: "ann", Text: `{"unlimited":true}`}, policy.ErrInvalid, "parts"},
		{policy.KeyLimits{Policy: "api", Key: "vip", Text: `{"tier":"gold"}`}, policy.ErrInvalid, "override"},
		{policy.KeyLimits{Policy: "api", Key: "ann", Text: " "}, policy.ErrInvalid, "nothing in it"},
	} {
		r := n.SetLimits(t.Context(), []policy.KeyLimits{c.k, {Policy: "api", Key: "bob", Text: `{"tier":"gold"}`}})
		if !errors.Is(r[0].Err, c.want) || !strings.Contains(r[0].Err.Error(), c.text) {
			t.Errorf("%+v: %v", c.k, r[0].Err)
		}
		if r[1].Err != nil {
			t.Errorf("and so is another: %v", r[1].Err)
		}
	}
	r := n.SetLimits(t.Context(), []policy.KeyLimits{{Policy: "place", Parts: []string{"t", "ann"}, Text: `{"unlimited":true}`}})
	if r[0].Err != nil {
		t.Error(r[0].Err)
	}
	for _, c := range []struct {
		attributes
		free bool
	}{
		{attributes{"tenant": "t", "user": "ann"}, true}, {attributes{"tenant": "t", "user": "bob"}, false},
		{attributes{"tenant": "t", "device": "ann"}, false},
	} {
		if d := check(t, n, policy.Request{Policy: "place", Attributes: c.attributes}); (d.DecidedBy == policy.Exempt) != c.free {
			t.Errorf("%v: %+v", c.attributes, d)
		}
	}
}

// TestStoredFollowsPolicies: limits of keys are read again when policies change; those that mean nothing any more have no effect.
func TestStoredFollowsPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, nil, time.Millisecond)
		apply(t, nodes[0], "version: 1\n"+storedText)
		key := keyOf(t, nodes[1], "api", "")
		store(t, nodes[2], key, `{"tier": "gold"}`)
		limit := func(want int64) {
			t.Helper()
			for _, n := range nodes {
				if d := check(t, n, policy.Request{Policy: "api", Key: key, CheckOnly: true}); d.Limit != want {
					t.Errorf("at %s: %+v, want %d", n.Name(), d, want)
				}
			}
		}
		limit(1000)
		apply(t, nodes[1], "version: 1\n"+strings.Replace(storedText, "burst: 1000", "burst: 2000", 1))
		limit(2000)
		apply(t, nodes[2], "version: 1\n"+strings.Replace(storedText, "gold", "silver", 1))
		limit(10)
		apply(t, nodes[0], "version: 1\n"+storedText)
		limit(1000)
	})
}

// TestStoredAtLeases: a key under load at all nodes, with leases out, is limited anew within a few round trips everywhere.
func TestStoredAtLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := lendingCluster(t, 4, nil)
		key := keyOf(t, nodes[0], "api", "hot")
		req := policy.Request{Policy: "api", Key: key}
		if c := hammer(t, nodes, req, 2*time.Millisecond, 2*time.Second); c.by[policy.Lease] == 0 {
			t.Fatalf("%v: no leases", c.by)
		}
		var slowest time.Duration
		for round, text := range []string{`{"limits":[{"rate":"3000/s"}]}`, `{"limits":[{"rate":"500/s"}]}`, ""} {
			want := []int64{3000, 500, 1000}[round]
			begun := time.Now()
			store(t, nodes[3], key, text)
			took := time.Since(begun)
			for now := false; !now; {
				now = true
				for _, n := range nodes {
					now = now && check(t, n, req).Limit == want
				}
				if took = time.Since(begun); took > 10*time.Second {
					t.Fatalf("%s does not apply everywhere", text)
				}
				time.Sleep(time.Millisecond)
			}
			slowest = max(slowest, took)
			if c := hammer(t, nodes, req, 2*time.Millisecond, 2*time.Second); c.by[policy.Lease] == 0 {
				t.Errorf("%v: no leases of the limits that were set", c.by)
			}
		}
		t.Logf("set at one node while four hold leases, 1 ms a message: within %v at all", slowest)
		var burned int64
		for _, n := range nodes {
			burned += n.Stats().Table.Leases.Burned
		}
		if burned > 1000 {
			t.Errorf("%d tokens burned", burned)
		}
	})
}

// TestStoredOutlivesNode: a node has what it had on disk before it takes checks, and who comes with an older entry does not bring that back.
func TestStoredOutlivesNode(t *testing.T) {
	disk := new(keeper)
	first := start(t, Config{Policies: set(t, storedText), Store: disk})
	if r := store(t, first, "ann", `{"tier": "gold"}`); !r.Kept || r.Copied {
		t.Errorf("%+v, want it kept, and no copy: there is no other node", r)
	}
	store(t, first, "bob", `{"tier": "gold"}`)
	store(t, first, "bob", "")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	next := start(t, Config{Policies: set(t, storedText), Store: disk})
	for key, want := range map[string]int64{"ann": 1000, "bob": 10} {
		if d := check(t, next, policy.Request{Policy: "api", Key: key, CheckOnly: true}); d.Limit != want {
			t.Errorf("%s: %+v, want %d", key, d, want)
		}
	}
	disk.err = errors.New("disk full")
	if r := store(t, next, "eve", `{"tier": "gold"}`); r.Kept {
		t.Errorf("%+v, though it could not be kept", r)
	}
	disk.err = nil
	if r := store(t, next, "joe", `{"tier": "gold"}`); !r.Kept || len(disk.entries) != 4 {
		t.Errorf("%+v, %d entries on disk", r, len(disk.entries))
	}
}

// TestStoredAndOlderPeer: a node that knows nothing of the limits store decides keys with limits of their own by the failure rule.
func TestStoredAndOlderPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := new(mem.Network)
		var members Static
		for _, name := range []string{"n1", "n2"} {
			members = append(members, ring.Member{ID: name, Boot: 1, Peer: name, State: ring.Active})
		}
		nodes := lendingCluster(t, 2, func(i int, c *Config) {
			c.Policies = set(t, storedText)
			c.Connect = func(own transport.Hello, secret []byte) (Network, Membership) {
				if i == 0 {
					own.MaxVersion = transport.EntriesVersion - 1
				}
				return network.Node(own.ID, own, secret), members
			}
		})
		key, other := keyOf(t, nodes[1], "api", ""), keyOf(t, nodes[1], "api", "other")
		store(t, nodes[1], key, `{"tier": "gold"}`)
		if d := check(t, nodes[0], policy.Request{Policy: "api", Key: key}); !d.Degraded {
			t.Errorf("%+v", d)
		}
		if d := check(t, nodes[0], policy.Request{Policy: "api", Key: other}); d.Degraded || d.Limit != 10 {
			t.Errorf("another key: %+v", d)
		}
		if d := check(t, nodes[1], policy.Request{Policy: "api", Key: key}); d.Degraded || d.Limit != 1000 {
			t.Errorf("at the owner: %+v", d)
		}
	})
}

// Bounds that packages have for themselves are the same.
func TestEntryBounds(t *testing.T) {
	if bounds := []int{policy.MaxStoredBytes, transport.MaxEntryBytes}; slices.ContainsFunc(bounds, func(n int) bool { return n != table.MaxEntryBytes }) {
		t.Errorf("%d, want %d", bounds, table.MaxEntryBytes)
	}
}

// TestStoredIsSentAgain: what is sent again until it has a copy does not take the number of what somebody else has set meanwhile.
func TestStoredIsSentAgain(t *testing.T) {
	n := start(t, Config{Policies: set(t, storedText)})
	id, err := n.idOf(&policy.KeyLimits{Policy: "api", Key: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	mine := []transport.Entry{{ID: id, Text: `{"tier":"gold"}`}}
	results := make([]policy.KeyResult, 1)
	n.sendEntries(t.Context(), mine, []int{0}, results)
	other := store(t, n, "ann", `{"tier":"internal"}`)
	n.sendEntries(t.Context(), mine, []int{0}, results)
	if mine[0].Number == 0 || mine[0].Number >= other.Number || results[0].Number != mine[0].Number {
		t.Errorf("it is sent as number %d, and told to be %d; the other has %d", mine[0].Number, results[0].Number, other.Number)
	}
}

// TestRelayToOlderPeer: a check that was passed on is not answered in words that its sender does not know.
func TestRelayToOlderPeer(t *testing.T) {
	n := start(t, Config{Policies: set(t, storedText)})
	for version, want := range map[uint8]transport.Status{transport.EntriesVersion - 1: transport.NotOwner, transport.EntriesVersion: transport.OtherLimits} {
		in := &inbound{node: n, from: "other", version: version, wake: make(chan struct{}, 1)}
		c := n.newCall()
		c.answer = transport.Answer{Status: transport.OtherLimits, Entry: `{"tier":"gold"}`}
		n.counters.passing.Add(1)
		in.relayed(c)
		if a := in.passed[0]; a.Status != want || (a.Entry == "") != (want == transport.NotOwner) {
			t.Errorf("version %d is answered %+v", version, a)
		}
	}
}

// TestOffersBesideWhoIsDown: entries on disk whose owners can't be reached keep no others from where they belong, and follow.
func TestOffersBesideWhoIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := new(mem.Network)
		var members Static
		for _, name := range []string{"n1", "n2"} {
			members = append(members, ring.Member{ID: name, Boot: 1, Peer: name, State: ring.Active})
		}
		policies := set(t, storedText)
		begin := func(name string, disk Store) *Node {
			return start(t, Config{Name: name, Policies: policies, Store: disk, Connect: func(own transport.Hello, secret []byte) (Network, Membership) {
				return network.Node(own.ID, own, secret), members
			}})
		}
		disk := new(keeper)
		var all []table.Entry
		probe := start(t, Config{Policies: policies})
		for i := range 3 * offerAtOnce {
			id, err := probe.idOf(&policy.KeyLimits{Policy: "api", Key: fmt.Sprint("k", i)})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, table.Entry{ID: id, Number: 1, Text: `{"tier":"gold"}`})
		}
		if err := disk.KeepEntries(all); err != nil {
			t.Fatal(err)
		}
		n1 := begin("n1", disk)
		missing := func(n *Node) (lacks, owned int) {
			for _, e := range all {
				if part := n.partitionOf(e.ID); n.owns(part) {
					owned++
					if _, ok, _ := n.owned.EntryOf(part, e.ID); !ok {
						lacks++
					}
				}
			}
			return lacks, owned
		}
		if lacks, owned := missing(n1); lacks > 0 || owned < offerAtOnce/2 {
			t.Errorf("%d of %d own entries are not there", lacks, owned)
		}
		n2 := begin("n2", nil)
		time.Sleep(2 * maxOfferAgain)
		if lacks, owned := missing(n2); lacks > 0 || owned < offerAtOnce/2 {
			t.Errorf("%d of %d entries of who came later are not there", lacks, owned)
		}
	})
}

// TestOffersForget: who offers what was replaced, or removed long ago, forgets it.
func TestOffersForget(t *testing.T) {
	disk := new(keeper)
	n := start(t, Config{Policies: set(t, storedText), Store: disk})
	store(t, n, "ann", `{"tier":"gold"}`)
	id, err := n.idOf(&policy.KeyLimits{Policy: "api", Key: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	now := disk.entries[id]
	other := bucket.ID{Hi: 1}
	disk.entries = map[bucket.ID]table.Entry{id: {ID: id, Number: now.Number - 1, Text: "old"}, other: {ID: other, Number: 1}}
	open, err := n.offerThese(t.Context(), n.allParts())
	if err != nil || len(open) > 0 || len(disk.entries) > 0 {
		t.Errorf("%v, %v: %v are on disk", open, err, disk.entries)
	}
	if e, _, _ := n.owned.EntryOf(n.partitionOf(id), id); e != now {
		t.Errorf("%v, want %v", e, now)
	}
}

// TestFailingDisk: what can't be written waits once for each key, and is written when it can be.
func TestFailingDisk(t *testing.T) {
	disk := new(keeper)
	n := start(t, Config{Policies: set(t, storedText), Store: disk})
	disk.err = errors.New("disk full")
	for i := range 100 {
		store(t, n, "ann", fmt.Sprintf(`{"limits":[{"rate":"1/d","burst":%d}]}`, 1+i))
	}
	if w := len(n.savings.waiting); w != 1 {
		t.Errorf("%d entries of one key wait", w)
	}
	disk.err = nil
	if !n.saveEntries() || len(disk.entries) != 1 {
		t.Errorf("%d entries are on disk", len(disk.entries))
	}
}

// TestStoredInACut: a key whose owner can't be reached goes by what this node was told of it last.
func TestStoredInACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &mem.Network{
			Delay: func(_, _ string) time.Duration { return time.Millisecond },
			After: func(d time.Duration, do func()) { time.AfterFunc(d, do) },
		}
		nodes := cluster(t, network, 2, func(_ int, c *Config) { c.Policies, c.Deadline = set(t, storedText), 20*time.Millisecond })
		free, gold, other := keyOf(t, nodes[1], "api", "u"), keyOf(t, nodes[1], "api", "g"), keyOf(t, nodes[1], "api", "o")
		store(t, nodes[0], free, `{"unlimited": true}`)
		store(t, nodes[0], gold, `{"tier":"gold"}`)
		for _, key := range []string{free, gold} {
			check(t, nodes[0], policy.Request{Policy: "api", Key: key})
		}
		network.Cut("n1", "n2")
		network.Cut("n2", "n1")
		time.Sleep(5 * time.Second)
		for key, want := range map[string]int{free: 50, gold: 50, other: 5} { // half of the policy's 10
			allowed := 0
			for range 50 {
				d := check(t, nodes[0], policy.Request{Policy: "api", Key: key})
				if !d.Degraded {
					t.Fatalf("%+v", d)
				}
				if d.Allowed {
					allowed++
				}
			}
			if allowed != want {
				t.Errorf("%s: %d of 50 allowed while its owner is cut off, want %d", key, allowed, want)
			}
		}
		network.Heal("n1", "n2")
		network.Heal("n2", "n1")
		time.Sleep(5 * time.Second)
	})
}
