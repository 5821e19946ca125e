package headers

import (
	"net/netip"
	"strings"
	"testing"
)

func TestClient(t *testing.T) {
	for _, tt := range []struct {
		id      string
		fields  []string
		proxies int
		want    string
	}{
		{"nobody is believed", []string{"1.1.1.1"}, 0, ""},
		{"one proxy", []string{"1.1.1.1"}, 1, "1.1.1.1"},
		{"forged entries", []string{"6.6.6.6, 7.7.7.7 ,1.1.1.1"}, 1, "1.1.1.1"},
		{"two proxies, two lines", []string{"6.6.6.6,1.1.1.1", "10.0.0.2"}, 2, "1.1.1.1"},
		{"fewer entries", []string{"6.6.6.6"}, 2, ""},
		{"C113: mapped", []string{"::ffff:102:304"}, 1, "1.2.3.4"},
		{"zone and port", []string{"[fe80::1%eth0]:99"}, 1, "fe80::1"},
		{"mapped with a zone", []string{"::ffff:1.2.3.4%eth0"}, 1, "1.2.3.4"},
		{"no address", []string{"unknown"}, 1, ""},
		{"no address, with a port", []string{"unknown:80"}, 1, ""},
		{"hidden", []string{"_hidden"}, 1, ""},
		{"hidden, with a port", []string{"_hidden:_80"}, 1, ""},
		{"a field of Forwarded", []string{"for=1.1.1.1"}, 1, ""},
		{"quoted", []string{`"[2001:db8::1]"`}, 1, ""},
		{"half a bracket", []string{"[2001:db8::1"}, 1, ""},
		{"the other half", []string{"2001:db8::1]"}, 1, ""},
		{"empty", []string{"1.1.1.1,"}, 1, ""},
		{"empty entries count", []string{"1.1.1.1,,"}, 3, "1.1.1.1"},
		{"only commas", []string{",,,"}, 2, ""},
		{"an empty line", []string{"1.1.1.1", ""}, 1, ""},
		{"many", []string{strings.Repeat("9.9.9.9,", 100_000) + "1.1.1.1"}, 1, "1.1.1.1"},
		{"none", nil, 1, ""},
	} {
		addr, ok := Client(tt.fields, tt.proxies)
		if got := addr.String(); ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("%s: %s %t, want %q", tt.id, got, ok, tt.want)
		}
	}
}

// FuzzClient: what stands left of the trusted entries changes nothing, in the same line or in one before, and what comes out is an address
// in its one form.
func FuzzClient(f *testing.F) {
	for _, seed := range []string{"1.1.1.1", "::ffff:1.2.3.4%eth0, [2001:db8::1]:80", "unknown", ",,", `"[::1]"`, "_x:_1, 1.2.3.4:5"} {
		f.Add(seed, "6.6.6.6, unknown")
	}
	f.Fuzz(func(t *testing.T, text, forged string) {
		for proxies := range min(strings.Count(text, ",")+2, 9) {
			addr, ok := Client([]string{text}, proxies)
			for _, fields := range [][]string{{forged + "," + text}, {forged, text}} {
				if other, stays := Client(fields, proxies); other != addr || stays != ok {
					t.Fatalf("%d proxies: %q before %q makes %v of %v", proxies, forged, text, other, addr)
				}
			}
			if !ok {
				continue
			}
			if again, ok := Address(addr.String()); !ok || again != addr || addr.Zone() != "" || addr.Is4In6() {
				t.Fatalf("%q is %v, and that is %v", text, addr, again)
			}
			prefix, err := netip.ParsePrefix(AddressKey(addr))
			if addr.Is4() && AddressKey(addr) != addr.String() || addr.Is6() && (err != nil || prefix.Bits() != 64 || !prefix.Contains(addr)) {
				t.Fatalf("the key of %v is %s", addr, AddressKey(addr))
			}
		}
	})
}
