package ownership

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// calm is a cluster in a network that loses nothing.
func calm(nodes int) *world {
	w := newWorld(worldConfig{
		seed: 1, partitions: 12, capacity: 50, rate: 50, load: 3, least: 200 * time.Microsecond, most: 2 * ms,
		forget: time.Minute, unreachable: "deny",
	})
	w.boot(nodes)
	w.run(3 * sec)
	return w
}

func (w *world) report(id string) Report { return w.hosts[id].m.Report(w.hosts[id].time()) }

// until runs the world until something holds, for ten seconds at most.
func (w *world) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := w.now + 10*sec; !holds(); w.run(w.now + 5*ms) {
		if w.now >= end {
			t.Fatalf("10 s have not brought %s", what)
		}
	}
}

func TestReport(t *testing.T) {
	w := calm(2)
	w.start(name(2))
	w.run(w.now + 3*sec)
	open := 0
	for _, id := range w.ids {
		r, tally := w.report(id), w.hosts[id].m.Tally()
		if r.Self.ID != id || r.State != Active || !r.Listed || r.Authority <= 0 || r.Wait != WaitNone || r.Waits != "" {
			t.Errorf("%+v", r)
		}
		if len(r.Members) != 3 || len(r.Partitions) != 12 {
			t.Fatalf("%d members, %d partitions", len(r.Members), len(r.Partitions))
		}
		for _, m := range r.Members {
			if !m.Listed || m.Silent || m.Lost || !m.Acknowledges || m.State != Active || m.Incarnation == 0 ||
				m.Heard < 0 || m.Heard > sec || m.Acknowledged < 0 || m.Acknowledged > sec {
				t.Errorf("%s about %+v", id, m)
			}
		}
		copies := 0
		for part, p := range r.Partitions {
			switch own := p.Claim.Owner == id; {
			case p.Claim.Owner != p.Placed, own != (p.Here == HereOpen), own && (p.CopyAt == "" || p.CopyAt == id),
				own && p.Last.How == Received && p.Last.From == "":
				t.Errorf("%s about partition %d: %+v", id, part, p)
			case p.Here == HereCopy:
				copies++
				if p.CopyAt != id {
					t.Errorf("%s keeps a copy of partition %d, says %+v", id, part, p)
				}
			}
		}
		open += tally.Open
		if tally.Copies != copies || tally.Claimed+tally.Frozen+tally.Uncopied+tally.Unclaimed != 0 ||
			tally.LowestTerm == 0 || tally.HighestTerm < tally.LowestTerm {
			t.Errorf("%s counts %+v, and has %d copies", id, tally, copies)
		}
	}
	if open != 12 {
		t.Errorf("%d of 12 partitions are open", open)
	}
	joined := w.hosts["n002"].m
	received := joined.Counters().Received
	given := w.hosts["n000"].m.Counters().Given + w.hosts["n001"].m.Counters().Given
	if received == 0 || given != received || int(received) != joined.Tally().Open {
		t.Errorf("%d partitions given, %d received, %+v", given, received, joined.Tally())
	}
}

// TestWaitsForOwners: when one of three has died, the others wait for its partitions for a moment, and know that it is lost.
func TestWaitsForOwners(t *testing.T) {
	w := calm(3)
	w.crash("n001")
	m := w.hosts["n000"].m
	waits := func() (Wait, string) { return m.Waits(w.hosts["n000"].time()) }
	w.until(t, "a wait for owners", func() bool { got, _ := waits(); return got == WaitOwners })
	_, text := waits()
	if !strings.HasPrefix(text, "waits for ") || !strings.HasSuffix(text, " of 12 partitions to be taken over from n001") {
		t.Error(text)
	}
	w.until(t, "an end to it", func() bool { got, _ := waits(); return got == WaitNone })
	r := w.report("n000")
	i := slices.IndexFunc(r.Members, func(m MemberReport) bool { return m.ID == "n001" })
	if i < 0 || !r.Members[i].Listed || !r.Members[i].Silent || !r.Members[i].Lost || r.Members[i].Acknowledges ||
		r.Members[i].Heard < 300*ms || r.Members[i].Acknowledged < 300*ms {
		t.Errorf("%+v", r.Members)
	}
	minted := slices.ContainsFunc(r.Partitions, func(p PartitionReport) bool {
		return p.Last.How == Minted && p.Last.From == "n001"
	})
	if !minted && m.Counters().Mints > 0 {
		t.Errorf("it took over from n001 and does not say so: %+v", r.Partitions)
	}
}

func TestWaitsForAuthority(t *testing.T) {
	for _, tt := range []struct {
		nodes int
		dead  []string
		want  string
	}{
		{2, []string{"n001"}, "has no authority: 1 of 2 members acknowledges it, a majority is 2; n001 has been silent for 2s: " +
			"start it, or `drossel members forget n001` if it is gone for good"},
		{3, []string{"n001", "n002"}, "has no authority: 1 of 3 members acknowledges it, a majority is 2; n001 and n002 have been " +
			"silent for 2s or more: start them, or `drossel members forget` those that are gone for good"},
	} {
		w := calm(tt.nodes)
		for _, id := range tt.dead {
			w.crash(id)
		}
		w.run(w.now + 2*sec - 50*ms)
		h := w.hosts["n000"]
		got, text := h.m.Waits(h.time())
		if text = strings.ReplaceAll(text, "1.9s", "2s"); got != WaitAuthority || text != tt.want || h.m.AuthorityLeft(h.time()) != 0 {
			t.Errorf("%d: %s\nwant %s", got, text, tt.want)
		}
		for _, id := range tt.dead {
			h.m.ForgetMember(h.time(), id)
		}
		w.until(t, "authority", func() bool { got, _ := h.m.Waits(h.time()); return got == WaitNone })
	}
}

// TestWaitsToBeAMember follows a node from nobody to membership, by what it is told.
func TestWaitsToBeAMember(t *testing.T) {
	at := func(d time.Duration) bucket.Instant { return bucket.Instant(sec + d) }
	begin := func(expect int, peers ...string) *Machine {
		m := New(Config{
			Self: Member{"n2", 20}, Partitions: 4, Place: placer(4), Expect: expect, JoinTimeout: 10 * sec, Forget: time.Minute,
		}, at(0))
		var all []Member
		for _, id := range peers {
			all = append(all, Member{id, 10})
		}
		m.Peers(at(0), all)
		return m
	}
	says := func(name string, m *Machine, now bucket.Instant, want Wait, text string) {
		t.Helper()
		if got, said := m.Waits(now); got != want || said != text {
			t.Errorf("%s: %d, %s\nwant %d, %s", name, got, said, want, text)
		}
	}
	says("nobody", begin(0), at(sec), WaitMeet,
		"has met nobody: start the others, or correct --join; a node that is to be alone has no --join, or --expect 1")

	m := begin(0, "n1", "n3")
	says("not answered", m, at(sec), WaitFound, "waits for n1 and n3 to say whether there is a cluster")
	m.Receive(at(sec), "n1", &NoList{10})
	m.Receive(at(sec), "n3", &NoList{10})
	says("all are new", m, at(sec), WaitFound,
		"has met n1 and n3, and none knows a cluster: they found one 10s after their start (--join-timeout)")
	if r := m.Report(at(sec)); r.Listed || r.State != Joining || len(r.Members) != 3 || r.Members[0].Listed || r.Members[1].Listed ||
		r.Members[0].Heard != -1 || r.Members[0].Acknowledged != -1 || r.Members[0].Incarnation != 10 || !r.Members[0].Silent {
		t.Errorf("%+v", r)
	}

	m = begin(3, "n1")
	m.Receive(at(sec), "n1", &NoList{10})
	says("expected", m, at(sec), WaitFound,
		"has met n1, and none knows a cluster: they found one once 3 have met (--expect)")

	m = begin(0, "n1", "n3")
	m.Receive(at(sec), "n1", &Memory{List: NewList(Member{"n1", 10}, Member{"n2", 15}, Member{"n3", 10})})
	says("returned", m, at(sec), WaitRecall, "has come back without its list and waits for 1 more of n3")

	m = begin(0, "n1", "n3")
	m.Receive(at(sec), "n1", &ListIs{NewList(Member{"n1", 10}, Member{"n3", 10})})
	m.Tick(at(sec))
	says("new", m, at(sec), WaitTakenIn, "is asking to be taken in: 2 of n1 and n3 have to agree")
	m.Receive(at(sec), "n1", &ListIs{NewList(Member{"n1", 10}, Member{"n2", 20}, Member{"n3", 10})})
	says("taken in", m, at(sec), WaitAuthority,
		"has no authority: 1 of 3 members acknowledges it, a majority is 2; n1 and n3 are heard, and do not acknowledge it yet")

	m.Receive(at(sec), "n1", &ListIs{NewList(Member{"n1", 10}, Member{"n2", 21}, Member{"n3", 10})})
	says("replaced", m, at(sec), WaitSuperseded, "decides nothing any more: a newer process has its name. Give each node a "+
		"--name of its own, and restart this one")
}

func TestNames(t *testing.T) {
	for want, ids := range map[string][]string{
		"nobody":                   nil,
		"a":                        {"a"},
		"a and b":                  {"a", "b"},
		"a, b, c, d and e":         {"a", "b", "c", "d", "e"},
		"a, b, c, d, e and 2 more": {"a", "b", "c", "d", "e", "f", "g"},
	} {
		if got := names(ids); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
