package headers

import "testing"

func TestHost(t *testing.T) {
	for in, want := range map[string]string{
		"api.example.com": "api.example.com", "API.Example.COM:443": "api.example.com", "a:": "a", "[::1]:80": "[::1]", "[::1]": "[::1]", "::1": "::1",
		"1.2.3.4:80": "1.2.3.4", "": "", ":80": "",
	} {
		if got := Host(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
