package gossip

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/drossel-dev/drossel/ring"
)

// What all versions of this format look like: nodes of a rolling upgrade read each other.
const golden = "01" + "02" + "0000000000000bee" + "0005" + "6e6f64652d" + "0006" + "683a37393437" + "0002" + "703d"

var goldenMeta = meta{
	member:      ring.Member{ID: "node-", Boot: 0xbee, Peer: "h:7947", State: ring.Active},
	fingerprint: "p=",
}

func TestMetaGolden(t *testing.T) {
	if got := hex.EncodeToString(goldenMeta.encode()); got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
	b, err := hex.DecodeString(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeMeta(b); got != goldenMeta || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, goldenMeta)
	}
}

func TestMetaThatIsNone(t *testing.T) {
	b := goldenMeta.encode()
	edit := func(at int, to byte) []byte {
		c := bytes.Clone(b)
		c[at] = to
		return c
	}
	for _, test := range []struct {
		bytes []byte
		want  string
	}{
		{nil, "empty"},
		{edit(0, 2), "version is 2, this node knows 1"},
		{edit(1, 0), "state 0"},
		{edit(1, 4), "state 4"},
		{edit(11, 0), "field of 0 bytes, want 1 to 120"},
		{edit(11, 121), "field of 121 bytes, want 1 to 120"},
		{edit(10, 1), "field of 261 bytes"},
		{append(bytes.Clone(b), 0), "1 bytes too many"},
	} {
		if got, err := decodeMeta(test.bytes); !errors.Is(err, errMeta) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%x: got %+v, %v, want an error that says %q", test.bytes, got, err, test.want)
		}
	}
	for size := range b {
		if got, err := decodeMeta(b[:size]); !errors.Is(err, errMeta) {
			t.Errorf("cut to %d bytes: got %+v, %v, want errMeta", size, got, err)
		}
	}
}

func TestLongestMetaFits(t *testing.T) {
	m := meta{
		member: ring.Member{
			ID: strings.Repeat("i", MaxIDBytes), Boot: 1<<64 - 1, Peer: strings.Repeat("p", MaxPeerBytes), State: ring.Leaving,
		},
		fingerprint: strings.Repeat("f", MaxFingerprintBytes),
	}
	b := m.encode()
	if len(b) != metaMax || len(b) > memberlist.MetaMaxSize {
		t.Errorf("takes %d bytes, want %d, at most %d", len(b), metaMax, memberlist.MetaMaxSize)
	}
	if got, err := decodeMeta(b); got != m || err != nil {
		t.Errorf("comes back as %+v, %v", got, err)
	}
}

func FuzzMeta(f *testing.F) {
	f.Add(goldenMeta.encode())
	f.Add(meta{member: ring.Member{ID: "a", Peer: "b", State: ring.Joining}}.encode())
	f.Add([]byte{})
	f.Add([]byte{metaVersion, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMeta(b)
		if err != nil {
			if !errors.Is(err, errMeta) {
				t.Fatalf("the error does not wrap errMeta: %v", err)
			}
			return
		}
		if again := m.encode(); !bytes.Equal(again, b) {
			t.Fatalf("%x is read as %+v, which is %x", b, m, again)
		}
	})
}
