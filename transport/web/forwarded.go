package web

import (
	"net/http"
	"strings"

	"github.com/drossel-dev/drossel/transport/headers"
)

// attributes reads what a gateway says of a request.
func attributes(h http.Header, from map[string]string, proxies int) map[string]string {
	all := make(map[string]string, len(from))
	for name, header := range from {
		values := h.Values(header)
		switch {
		case name == "ip":
			if ip, ok := headers.Client(values, proxies); ok {
				all[name] = ip.String()
			}
		case len(values) != 1 || values[0] == "":
		case name == "route":
			all[name] = pathOf(values[0])
		default:
			all[name] = values[0]
		}
	}
	return all
}

// pathOf returns the path of a URI, which may be a whole URL or what a request line has, byte for byte.
func pathOf(uri string) string {
	if scheme, rest, found := strings.Cut(uri, "://"); found && !strings.ContainsAny(scheme, "/?#") {
		slash := strings.IndexAny(rest, "/?#")
		if slash < 0 || rest[slash] != '/' {
			return "/"
		}
		uri = rest[slash:]
	}
	if end := strings.IndexAny(uri, "?#"); end >= 0 {
		uri = uri[:end]
	}
	return uri
}
