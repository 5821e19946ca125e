package headers

import (
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
		{"hidden", []string{"_hidden"}, 1, ""},
		{"empty", []string{"1.1.1.1,"}, 1, ""},
		{"many", []string{strings.Repeat("9.9.9.9,", 100_000) + "1.1.1.1"}, 1, "1.1.1.1"},
		{"none", nil, 1, ""},
	} {
		addr, ok := Client(tt.fields, tt.proxies)
		if got := addr.String(); ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("%s: %s %t, want %q", tt.id, got, ok, tt.want)
		}
	}
}
