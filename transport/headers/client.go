package headers

import (
	"net/netip"
	"slices"
	"strings"
)

// Client returns the address of a client as the fields of X-Forwarded-For tell it, without zone, and an IPv4 address in IPv6 form
// (::ffff:1.2.3.4) as the IPv4 address. proxies is how many proxies of your own a request passes, which each append whom they were called
// by: the client is that many entries from the right, and what stands before is hearsay. It is false if there are fewer entries, if that one
// is no address, or if proxies is not above 0. However long the fields are, no more of them is looked at.
func Client(fields []string, proxies int) (netip.Addr, bool) {
	return Address(fromTheRight(fields, proxies))
}

// Address reads an address, with or without a port, an IPv6 address in brackets or not, as proxies write them. It returns it as Client does.
func Address(text string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return plainAddr(ap.Addr()), true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok {
			return netip.Addr{}, false
		}
	}
	addr, err := netip.ParseAddr(text)
	return plainAddr(addr), err == nil
}

// AddressKey returns what a client with this address is told by if nothing else is said: an IPv4 address, or the /64 prefix of an IPv6 address,
// since clients move freely within theirs.
func AddressKey(addr netip.Addr) string {
	if addr = plainAddr(addr); addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr, 64).Masked().String()
}

func plainAddr(addr netip.Addr) netip.Addr { return addr.WithZone("").Unmap() }

// fromTheRight returns the nth entry of a list in several fields, counted from the right and from 1; "" if there are fewer.
func fromTheRight(fields []string, n int) string {
	if n < 1 {
		return ""
	}
	for _, field := range slices.Backward(fields) {
		for {
			comma := strings.LastIndexByte(field, ',')
			if n--; n == 0 {
				return strings.TrimSpace(field[comma+1:])
			}
			if comma < 0 {
				break
			}
			field = field[:comma]
		}
	}
	return ""
}
