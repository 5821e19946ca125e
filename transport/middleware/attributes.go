package middleware

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/drossel-dev/drossel/transport/headers"
)

// HeaderKey returns an Options.Key that is the value of a header, such as an API key. A request without it, or with an empty one, has
// no key: its clients are refused, and never share one bucket. Of several values the first counts.
//
// Clients choose what a header says: take it from one that somebody has checked before, or an attacker has a new bucket for each request.
func HeaderKey(name string) func(*http.Request) (string, error) {
	return func(r *http.Request) (string, error) {
		if value := r.Header.Get(name); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("%w: the request has no header %s", ErrNoKey, name)
	}
}

// Attributes is what is known about any request: method; host, in lower case and without a port (headers.Host); route, which is the path
// pattern that http.ServeMux has found for it, or its path in one spelling (headers.Path); and ip, the client's address as ClientAddress
// finds it, but all of it: how many bits of it count is for policies to say. What is not known is absent.
func Attributes(r *http.Request, trustedProxies int) map[string]string {
	all := map[string]string{"method": r.Method, "route": headers.Path(r.URL.EscapedPath())}
	if _, pattern, found := strings.Cut(r.Pattern, "/"); found { // without method and host
		all["route"] = "/" + pattern
	}
	if r.Host != "" {
		all["host"] = headers.Host(r.Host)
	}
	if addr, ok := clientAddr(r, trustedProxies); ok {
		all["ip"] = addr.String()
	}
	return all
}
