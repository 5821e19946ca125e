package node

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node/ownership"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport/mem"
)

// fewPartitions leave more of a busy machine to heartbeats.
const fewPartitions = 101

// TestStatusOfOwnership sees what three nodes tell about who owns what, and then kills one.
func TestStatusOfOwnership(t *testing.T) {
	nodes := realCluster(t, 3, func(_ int, c *Config) {
		c.Settle, c.Ring.Partitions = 100*time.Millisecond, fewPartitions
	})
	asked, dead := nodes[0], nodes[2]
	var wrong string
	defer func() {
		if t.Failed() {
			t.Log(wrong)
		}
	}()
	waitFor(t, "copies of everything", func() bool {
		open, copied := 0, true
		wrong = ""
		for _, n := range nodes {
			o := n.Stats().Ownership
			wrong += fmt.Sprintf("%s: %+v\n", n.Name(), o)
			open += o.Open
			copied = copied && o.Uncopied == 0 && o.Lag == 0
		}
		return open == fewPartitions && copied
	})

	waitFor(t, "all to be well", func() bool { // others may be silent for a moment, on a machine with other work
		wrong = unlikeWhole(asked, nodes)
		return wrong == ""
	})
	ringOf(t, asked, 3)

	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the others to have taken over", func() bool {
		return nodes[0].Stats().Ownership.Open+nodes[1].Stats().Ownership.Open == fewPartitions
	})
	waitFor(t, "the dead one to be dead", func() bool {
		m := asked.Members(ctx)[2]
		wrong = fmt.Sprintf("%+v", m)
		return m.ID == "n3" && m.State == "lost" && m.Listed && !m.Acknowledges && m.Status == nil && m.Error != "" &&
			m.HeardSecs != nil && *m.HeardSecs > 0.2 && m.AcknowledgedSecs != nil
	})
	minted, lost := uint64(0), uint64(0)
	for _, n := range nodes[:2] {
		o := n.Stats().Ownership
		minted, lost = minted+o.Minted, lost+o.Losses
		if o.Blank > o.Minted || o.Words == 0 || o.WordBytes == 0 ||
			o.SentBytes == 0 {
			t.Errorf("%+v", o)
		}
	}
	if minted == 0 || lost == 0 {
		t.Errorf("%d partitions taken over, the loss of %d confirmed", minted, lost)
	}
	if last := asked.Ring().Moves.Last; len(last) == 0 || last[0].AgoSecs > 60 {
		t.Errorf("%+v", last)
	}
	if err := asked.ForgetMember("n3"); err != nil {
		t.Fatal(err)
	}
	settled(t, nodes[:2])
	ringOf(t, asked, 2)
	if list := asked.Members(ctx); len(list) != 2 && list[2].State != "guest" { // gossip may know it for a while
		t.Errorf("%+v", list[2])
	}
}

// unlikeWhole says what a node tells about the members of a cluster that is whole, and should not.
func unlikeWhole(asked *Node, nodes []*Node) string {
	list := asked.Members(ctx)
	held := 0
	for i, m := range list {
		s := m.Status
		if s == nil || m.ID != nodes[i].Name() || m.State != "active" || !m.Listed || !m.Acknowledges || m.Self != (i == 0) ||
			m.Peer != nodes[i].PeerAddr() || (m.HeardSecs == nil) != m.Self || (m.AcknowledgedSecs == nil) != m.Self ||
			m.Error != "" {
			return fmt.Sprintf("%+v", m)
		}
		if s.AuthoritySecs == nil || *s.AuthoritySecs <= 0 || s.Waits != "" || s.Incarnation < nodes[i].boot || s.State != "active" ||
			s.Members != len(nodes) || s.RingPartitions != fewPartitions || s.Copies == 0 {
			return fmt.Sprintf("%+v", *s)
		}
		held += s.Partitions
	}
	if len(list) != len(nodes) || held != fewPartitions {
		return fmt.Sprintf("%d members hold %d partitions", len(list), held)
	}
	return ""
}

// ringOf waits until a node tells what it should about a cluster in which all is where it should be.
func ringOf(t *testing.T, n *Node, members int) {
	t.Helper()
	var wrong string
	defer func() {
		if t.Failed() {
			t.Log(wrong)
		}
	}()
	waitFor(t, "all to be where it should be", func() bool {
		wrong = unlikeSettled(n.Ring(), n.Partitions(), n.Name(), members)
		return wrong == ""
	})
}

// unlikeSettled says what a node tells about partitions, and should not when all is where it should be.
func unlikeSettled(r RingStatus, all []PartitionStatus, name string, members int) string {
	placed, copies := 0, 0
	for _, m := range r.Members {
		next := 0
		for id, k := range m.FailsOver {
			if id != m.ID {
				next += k
			}
		}
		if m.Placed == 0 || m.Partitions != m.Placed || m.Share != float64(m.Partitions)/fewPartitions || next != m.Placed || m.Peer == "" ||
			(m.Copies > 0) == (m.ID == name) {
			return fmt.Sprintf("%+v", m)
		}
		placed, copies = placed+m.Placed, copies+m.Copies
	}
	h := r.Here
	if len(r.Members) != members || r.Partitions != fewPartitions || placed != fewPartitions || h == nil || copies != h.Copies ||
		h.Claimed+h.Frozen+h.Unclaimed+h.Uncopied != 0 || h.LowestTerm < 1 || h.HighestTerm < h.LowestTerm {
		return fmt.Sprintf("%+v, here %+v", r, h)
	}
	if m := r.Moves; m.Given > 0 && (m.MaxSecs <= 0 || m.MedianSecs <= 0 || m.MedianSecs > m.MaxSecs) || len(m.Last) == 0 {
		return fmt.Sprintf("%+v", m)
	}
	here := make(map[string]int)
	for i, p := range all {
		here[p.Here]++
		if p.Partition != i || p.Owner != p.Placed || p.Term == 0 ||
			p.Here == "open" && (p.Owner != name || p.CopyAt == "" || p.Last == nil) || p.Here == "copy" && p.CopyAt != name {
			return fmt.Sprintf("%+v", p)
		}
	}
	if here["open"] != h.Open || here["copy"] != h.Copies {
		return fmt.Sprintf("%v, want %+v", here, h)
	}
	return ""
}

// TestStatusOfAGuest is a node that finds nobody: it says so, in its status and in its log.
func TestStatusOfAGuest(t *testing.T) {
	n := start(t, Config{
		Name: "a", Gossip: "127.0.0.1:0", Join: []string{"127.77.0.2:1"}, Policies: policies(t), JoinTimeout: time.Millisecond,
	})
	list := n.Members(ctx)
	if len(list) != 1 || !list[0].Self || list[0].Listed || list[0].State != "guest" || list[0].Peer == "" {
		t.Errorf("%+v", list)
	}
	s := n.Status()
	if s.State != "guest" || !strings.HasPrefix(s.Waits, "has met nobody: ") || s.AuthoritySecs == nil || *s.AuthoritySecs != 0 {
		t.Errorf("%+v", s)
	}
	if h := n.Ring().Here; h == nil || h.Unclaimed != 1021 || h.LowestTerm != 0 {
		t.Errorf("%+v", h)
	}
}

// TestStatusOfFixedMembers: where members never change all are listed, and nothing is said about ownership.
func TestStatusOfFixedMembers(t *testing.T) {
	nodes := cluster(t, new(mem.Network), 2, nil)
	waitFor(t, "an answer", func() bool { return nodes[0].Members(ctx)[1].Status != nil })
	for _, m := range nodes[0].Members(ctx) {
		if !m.Listed || !m.Acknowledges || m.State != "active" || m.HeardSecs != nil || m.Status.AuthoritySecs != nil ||
			m.Status.Waits != "" {
			t.Errorf("%+v, %+v", m, m.Status)
		}
	}
	r, counts := nodes[0].Ring(), make(map[string]int)
	for _, p := range nodes[0].Partitions() {
		counts[p.Owner]++
		if p.Owner != p.Placed || p.Here != "" || p.Last != nil {
			t.Fatalf("%+v", p)
		}
	}
	for _, m := range r.Members {
		if m.Partitions != m.Placed || m.Partitions != counts[m.ID] || m.FailsOver["n1"]+m.FailsOver["n2"] != m.Placed {
			t.Errorf("%+v, %v", m, counts)
		}
	}
	if r.Here != nil || r.Moves != nil || nodes[0].Stats().Ownership.Words != 0 {
		t.Errorf("%+v", r)
	}
}

func TestStateOf(t *testing.T) {
	for want, m := range map[string]ownership.MemberReport{
		"active":  {Listed: true, State: ownership.Active},
		"leaving": {Listed: true, State: ownership.Leaving},
		"silent":  {Listed: true, State: ownership.Active, Silent: true},
		"lost":    {Listed: true, State: ownership.Active, Silent: true, Lost: true},
		"guest":   {State: ownership.Active},
	} {
		if got := stateOf(m, ring.Member{State: ring.Active}); got != want {
			t.Errorf("%+v: %s, want %s", m, got, want)
		}
	}
	if got := stateOf(ownership.MemberReport{}, ring.Member{State: ring.Joining}); got != "joining" {
		t.Errorf("%s, want joining", got)
	}
}

// TestAlarm: a node says what it waits for after two seconds, then every half a minute, and that it is over.
func TestAlarm(t *testing.T) {
	at := func(d time.Duration) bucket.Instant { return bucket.Instant(time.Hour + d) }
	m := ownership.New(ownership.Config{
		Self: ownership.Member{ID: "a", Incarnation: 1}, Partitions: 1,
		Place: func(ids []string) []uint16 { return make([]uint16, 1) },
	}, at(0))
	var log bytes.Buffer
	var a alarm
	said := func(from, to time.Duration) int {
		log.Reset()
		for d := from; d < to; d += 10 * time.Millisecond {
			a.look(at(d), m, slog.New(slog.NewTextHandler(&log, nil)))
		}
		return strings.Count(log.String(), "\n")
	}
	for _, span := range []struct {
		from, to time.Duration
		lines    int
		text     string
	}{
		{0, 1900 * time.Millisecond, 0, ""},
		{1900 * time.Millisecond, 31 * time.Second, 1, `level=WARN msg="this node has met nobody: `},
		{31 * time.Second, 65 * time.Second, 2, "has met nobody"},
	} {
		if n := said(span.from, span.to); n != span.lines || !strings.Contains(log.String(), span.text) {
			t.Errorf("%v to %v: %d lines, want %d: %s", span.from, span.to, n, span.lines, log.String())
		}
	}
	m.FoundAlone(at(65 * time.Second))
	m.Tick(at(65 * time.Second))
	if n := said(65*time.Second, 65*time.Second+time.Millisecond); n != 1 || !strings.Contains(log.String(), "level=INFO") {
		t.Errorf("%d lines: %s", n, log.String())
	}
	m.Tick(at(66 * time.Second))
	if n := said(66*time.Second, 66*time.Second+200*time.Millisecond); n != 0 {
		t.Errorf("it is said twice that it is over: %s", log.String())
	}
}

// TestLag: while nobody takes a copy of what has changed, that is seen.
func TestLag(t *testing.T) {
	nodes := realCluster(t, 2, func(_ int, c *Config) { c.Ring.Partitions = fewPartitions })
	waitFor(t, "copies of everything", func() bool {
		o := nodes[0].Stats().Ownership
		return o.Uncopied == 0 && o.Lag == 0 && o.Snapshots == 0
	})
	key := keyOwnedBy(t, nodes[0], "k")
	g := nodes[1].governor
	g.mu.Lock() // n2 answers nothing
	check(t, nodes[0], policy.Request{Policy: "api", Key: key})
	waitFor(t, "a lag", func() bool {
		o := nodes[0].Stats().Ownership
		return o.Lag > 50*time.Millisecond && o.Snapshots > 0
	})
	g.mu.Unlock()
	waitFor(t, "the copy", func() bool { return nodes[0].Stats().Ownership.Lag == 0 })
}

func TestQuantile(t *testing.T) {
	h := new(histogram)
	if q := h.snapshot().Quantile(0.5); q != 0 {
		t.Errorf("of none: %v", q)
	}
	for _, d := range []time.Duration{time.Microsecond, 3 * time.Millisecond, 3 * time.Millisecond, 5 * time.Millisecond, time.Minute} {
		h.observe(d)
	}
	s := h.snapshot()
	for q, want := range map[float64]time.Duration{0: 1 << 14, 0.2: 1 << 14, 0.5: 1 << 22, 0.6: 1 << 22, 0.8: 1 << 23, 1: time.Minute} {
		if got := s.Quantile(q); got != want {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	if s.Max != time.Minute || s.Count != 5 {
		t.Errorf("%+v", s)
	}
	short := new(histogram)
	short.observe(20 * time.Microsecond)
	if got := short.snapshot().Quantile(0.5); got != 20*time.Microsecond {
		t.Errorf("%v, want the longest", got)
	}
}
