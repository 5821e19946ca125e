package web

import (
	"net/http"

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
			if route := headers.Path(values[0]); route != "" {
				all[name] = route
			}
		case name == "host":
			all[name] = headers.Host(values[0])
		default:
			all[name] = values[0]
		}
	}
	return all
}
