package gossip

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/drossel-dev/drossel/ring"
)

// Limits of what a node says about itself. Together they fit the 512 bytes that memberlist carries for a node.
const (
	MaxIDBytes          = 120
	MaxPeerBytes        = 259 // the longest DNS name, a colon and a port
	MaxFingerprintBytes = 112
	MaxLabelBytes       = 200
	MaxKeyHashBytes     = 54 // what memberlist's label leaves beside ours
)

const keyBytes = 32

// Config says who a node is and where it gossips. Self, Bind and Label are required.
type Config struct {
	// Self is this node: its ID (1 to MaxIDBytes), its Boot, and in Peer the host:port that others are to use (up to
	// MaxPeerBytes); an unspecified ip in it is replaced by the advertised one. Its State is ignored: a node starts as ring.Joining.
	Self ring.Member
	// Bind is the ip:port to listen on, both TCP and UDP. Port 0 picks a free one; ":port" and an unspecified ip listen
	// on all interfaces.
	Bind string
	// Advertise is the ip:port, or the ip, that others are to use. Empty means the ip of Bind, or if that is
	// unspecified the source address towards the first seed. No port, or 0, means the bound port.
	Advertise string
	// Seeds are nodes to ask for the others: "host:port", or "dns:///name:port". Either stands for all addresses of the
	// name, looked up at every Join. Seeds may be down or not exist yet, and may be this node.
	Seeds []string
	// Label names the cluster, 1 to MaxLabelBytes. Nodes of other labels are refused.
	Label string
	// Key encrypts and authenticates with AES-256-GCM: 32 bytes, the same on every node. Nil sends in the clear.
	Key []byte
	// KeyHash is a short public hash of the secret, up to MaxKeyHashBytes and without '#'. It travels in the clear
	// beside the label, so that a refusal can say whether label or secret differ.
	KeyHash string
	// Fingerprint is what placement depends on, ring.Params.String, up to MaxFingerprintBytes. Nodes that differ in
	// it are refused.
	Fingerprint string
	// Logger is told of what goes on; nil discards it.
	Logger *slog.Logger
}

// wireLabel is what marks every packet and stream: the label and the hash of the secret.
func (c Config) wireLabel() string { return c.Label + "#" + c.KeyHash }

// splitLabel is the inverse of wireLabel, for any text that came over the wire.
func splitLabel(wire string) (label, keyHash string) {
	if i := strings.LastIndexByte(wire, '#'); i >= 0 {
		return wire[:i], wire[i+1:]
	}
	return wire, ""
}

// endpoints are the addresses of a Config, parsed.
type endpoints struct {
	bind      netip.AddrPort // the address is unspecified to listen on all interfaces
	advertise netip.AddrPort // the zero address or port: still to be found
	seeds     []seed
}

// CheckBind says whether a text is an ip:port to listen on, as Config.Bind wants it.
func CheckBind(text string) error {
	_, err := parseBind(text)
	return err
}

// CheckAdvertise says whether a text is an ip:port or ip to be reached at, as Config.Advertise wants it.
func CheckAdvertise(text string) error {
	_, err := parseAdvertise(text)
	return err
}

// CheckSeed says whether a text is a seed, as Config.Seeds wants it. No name is looked up.
func CheckSeed(text string) error {
	_, err := parseSeed(text)
	return err
}

// parse checks everything that can be checked without a socket and returns the addresses, or an ErrConfig.
func (c Config) parse() (endpoints, error) {
	var ends endpoints
	var wrong []error
	refuse := func(field, format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%s "+format, append([]any{field}, args...)...))
	}
	length := func(field, text string, least, most int) {
		if len(text) < least || len(text) > most {
			refuse(field, "has %d bytes, want %d to %d", len(text), least, most)
		}
	}
	length("Self.ID", c.Self.ID, 1, MaxIDBytes)
	length("Self.Peer", c.Self.Peer, 1, MaxPeerBytes)
	if host, port, err := net.SplitHostPort(c.Self.Peer); err != nil || host == "" || port == "" {
		refuse("Self.Peer", "is %q, want host:port as other nodes reach it", c.Self.Peer)
	}
	length("Label", c.Label, 1, MaxLabelBytes)
	length("KeyHash", c.KeyHash, 0, MaxKeyHashBytes)
	if strings.Contains(c.KeyHash, "#") {
		refuse("KeyHash", "is %q, want it without '#'", c.KeyHash)
	}
	length("Fingerprint", c.Fingerprint, 0, MaxFingerprintBytes)
	if c.Key != nil && len(c.Key) != keyBytes {
		refuse("Key", "has %d bytes, want %d, or nil to send in the clear", len(c.Key), keyBytes)
	}
	var err error
	if ends.bind, err = parseBind(c.Bind); err != nil {
		refuse("Bind", "%w", err)
	}
	if ends.advertise, err = parseAdvertise(c.Advertise); err != nil {
		refuse("Advertise", "%w", err)
	}
	for _, text := range c.Seeds {
		s, err := parseSeed(text)
		if err != nil {
			refuse("Seeds", "%w", err)
		}
		ends.seeds = append(ends.seeds, s)
	}
	if wrong != nil {
		return endpoints{}, fmt.Errorf("%w: %w", ErrConfig, errors.Join(wrong...))
	}
	return ends, nil
}
