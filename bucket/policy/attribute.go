package policy

import (
	"fmt"
	"net/netip"
)

// Attribute says how the values of an attribute become parts of keys. The zero Attribute takes them byte for byte.
type Attribute struct {
	// IPv4 and IPv6 are not both 0 if the values are addresses: so many of their leading bits count, 1 to 32 and 1 to 128, and clients
	// that share them share a bucket. 0 is then all bits of an IPv4 address, and 64 of an IPv6 one: who has one of these has 2^64 of
	// them. IPv4 addresses that are mapped into IPv6 are IPv4 addresses, and zones do not count.
	IPv4, IPv6 int
	// Hash says that the values are secrets: they are never shown, nor stored.
	Hash bool
}

func (a Attribute) isAddress() bool { return a.IPv4 != 0 || a.IPv6 != 0 }

// wrong says what is wrong with it, or "".
func (a Attribute) wrong() string {
	switch {
	case a.IPv4 < 0 || a.IPv4 > 32:
		return fmt.Sprintf("ipv4 is %d, want 1 to 32 bits", a.IPv4)
	case a.IPv6 < 0 || a.IPv6 > 128:
		return fmt.Sprintf("ipv6 is %d, want 1 to 128 bits", a.IPv6)
	case a.isAddress() && a.Hash:
		return "an address that is a secret as well: leave hash out, or ipv4 and ipv6"
	}
	return ""
}

// appendAddress appends the part of an address that counts.
func (a Attribute) appendAddress(dst []byte, value string) ([]byte, error) {
	addr, err := netip.ParseAddr(value)
	if err != nil {
		return dst, err
	}
	addr = addr.Unmap().WithZone("")
	bits := 32
	if a.IPv4 != 0 {
		bits = a.IPv4
	}
	if addr.Is6() {
		if bits = 64; a.IPv6 != 0 {
			bits = a.IPv6
		}
	}
	if bits == addr.BitLen() {
		return addr.AppendTo(dst), nil
	}
	return netip.PrefixFrom(addr, bits).Masked().AppendTo(dst), nil
}
