package headers

import (
	"strings"
	"testing"
)

// TestPath: what services take for the same path is one, so that another spelling is no way past a limit.
func TestPath(t *testing.T) {
	for uri, want := range map[string]string{
		"/pages/1": "/pages/1", "/%70ages/1": "/pages/1", "//pages/1": "/pages/1", "/./pages//1": "/pages/1", "/free/../pages/1?x=/y": "/pages/1",
		"/free/%2e%2e/pages/1": "/pages/1", "https://h/pages/1#x": "/pages/1", "https://h?x": "/", "/a%2Fb": "/a%2Fb", "/a%2fb": "/a%2Fb",
		"/a%25b": "/a%25b", "/pages/": "/pages/", "/pages/.": "/pages/", "/../..": "/", "*": "*", "": "", "/a%zz": "/a%zz",
	} {
		if got := Path(uri); got != want {
			t.Errorf("%q: %q, want %q", uri, got, want)
		}
	}
}

// Whatever a client writes, its route has no query and no empty or dot segments, and is itself if read once more.
func FuzzPath(f *testing.F) {
	f.Add("/a/../b%2f%25//c?d")
	f.Add("h://x/y#z")
	f.Fuzz(func(t *testing.T, uri string) {
		got := Path(uri)
		if !strings.HasPrefix(got, "/") {
			return
		}
		if strings.Contains(got, "//") || strings.Contains(got+"/", "/../") || strings.Contains(got+"/", "/./") {
			t.Errorf("%q: %q", uri, got)
		}
	})
}
