package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/node"
)

// whole is what a node says of three members that are well.
func whole() []node.MemberStatus {
	var all []node.MemberStatus
	for i, id := range []string{"n1", "n2", "n3"} {
		some := 0.25
		all = append(all, node.MemberStatus{
			ID: id, State: "active", Peer: id + ":7947", Self: i == 0, Listed: true, Acknowledges: true,
			Status: &node.Status{ID: id, Epoch: "e1", Partitions: 340 + i/2, RingPartitions: 1021, AuthoritySecs: &some},
		})
	}
	all[1].HeardSecs, all[1].AcknowledgedSecs = all[0].Status.AuthoritySecs, all[0].Status.AuthoritySecs
	return all
}

func TestUnwell(t *testing.T) {
	for _, tt := range []struct {
		name          string
		expect        int
		change        func(all []node.MemberStatus) []node.MemberStatus
		want, expects string // without and with --expect
	}{
		{"well", 3, func(a []node.MemberStatus) []node.MemberStatus { return a }, "", ""},
		{"too few", 4, func(a []node.MemberStatus) []node.MemberStatus { return a }, "", "3 members, want 4"},
		{"none", 3, func(a []node.MemberStatus) []node.MemberStatus { return nil },
			"the node has not started yet", "the node has not started yet"},
		{"guest", 3, func(a []node.MemberStatus) []node.MemberStatus { a[1].Listed = false; return a },
			"n2 is not a member (yet)", "n2 is not a member (yet)"},
		{"silent", 3, func(a []node.MemberStatus) []node.MemberStatus { a[2].Status = nil; return a },
			"n3 does not answer", "n3 does not answer"},
		{"waits", 3, func(a []node.MemberStatus) []node.MemberStatus { a[1].Status.Waits = "has met nobody"; return a },
			"n2 has met nobody", "n2 has met nobody"},
		{"lists differ", 3, func(a []node.MemberStatus) []node.MemberStatus { a[1].Status.Epoch = "e2"; return a },
			"not all members have the same list (yet)", "not all members have the same list (yet)"},
		{"not acknowledged", 3, func(a []node.MemberStatus) []node.MemberStatus { a[1].Acknowledges = false; return a },
			"", "n2 does not acknowledge the node that was asked (yet)"},
		{"no owner", 3, func(a []node.MemberStatus) []node.MemberStatus { a[1].Status.Partitions = 0; return a },
			"", "681 of 1021 partitions have an owner (yet)"},
	} {
		if got := unwell(tt.change(whole()), 0); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if got := unwell(tt.change(whole()), tt.expect); got != tt.expects {
			t.Errorf("%s, with --expect: %q, want %q", tt.name, got, tt.expects)
		}
	}
}

func TestPrintMembers(t *testing.T) {
	all := whole()
	all[2].Status, all[2].State, all[2].Error = nil, "silent", "not connected"
	var out bytes.Buffer
	if err := printMembers(&out, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"n1      active  n1:7947  (asked)  -      -      250ms      340", "n2      active  n2:7947  -        250ms  250ms  250ms",
		"no answer: not connected", "\nwarning: n3 is on the list and does not answer: start it",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	all[0].Status.Waits = "has no authority: n3 is silent"
	out.Reset()
	if err := printMembers(&out, all); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasSuffix(text, "\n\nwarning: n1 has no authority: n3 is silent\n") {
		t.Errorf("one warning is enough:\n%s", text)
	}
}

func TestPrintRing(t *testing.T) {
	r := node.RingStatus{
		Node: "n2", Epoch: "e1", Partitions: 101, Parameters: "partitions=101",
		Members: []node.RingShare{
			{ID: "n1", Partitions: 50, Share: 50. / 101, Placed: 51, Copies: 7, FailsOver: map[string]int{"n2": 30, "n3": 21}},
		},
	}
	var out bytes.Buffer
	if err := printRing(&out, &r); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasSuffix(text, "n1      50    49.5 %  51      7       30 to n2, 21 to n3\n") {
		t.Errorf("where members never change:\n%s", text)
	}
	r.Here = &node.RingHere{Open: 1, Claimed: 2, Frozen: 3, Copies: 4, Uncopied: 5, Unclaimed: 6, LowestTerm: 7, HighestTerm: 8}
	r.Moves = &node.RingMoves{Given: 9, Received: 10, Minted: 11, Blank: 12, MedianSecs: 0.0041, MaxSecs: 0.5}
	r.Moves.Last = []node.PartitionMove{
		{Partition: 13, How: "given", From: "n3", AgoSecs: 1.234}, {Partition: 14, How: "minted", From: "n4", AgoSecs: 61},
		{Partition: 15, How: "founded", AgoSecs: 3700},
	}
	out.Reset()
	if err := printRing(&out, &r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"n2 decides 1, waits for others to acknowledge 2, is giving away 3, and keeps copies of 4.\n",
		"5 have no copy elsewhere, and 6 no owner", "Terms are 7 to 8.",
		"9 were given away (median 4.1ms, at most 500ms), 10 came, 11 were taken over, 12 of them without a copy.",
		"13  given to n3 1.23s ago\n14  minted from n4 1m1s ago\n15  founded 1h1m40s ago\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestPrintPartitions(t *testing.T) {
	var out bytes.Buffer
	err := printPartitions(&out, []node.PartitionStatus{
		{Partition: 0, Here: "open", Owner: "n1", Term: 3, Placed: "n1", CopyAt: "n2",
			Last: &node.PartitionMove{How: "received", From: "n2", AgoSecs: 2}},
		{Partition: 1},
	})
	want := "PARTITION  HERE  OWNER  TERM  SHOULD  COPY  LAST\n" +
		"0          open  n1     3     n1      n2    received from n2 2s ago\n" +
		"1          -     -      0     -       -     -\n"
	if err != nil || out.String() != want {
		t.Errorf("%v:\n%s\nwant\n%s", err, out.String(), want)
	}
}
