package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/node/source"
)

const defaultTimeout = 5 * time.Second

// Config says which key. Endpoints and Key are required.
type Config struct {
	// Endpoints are members of etcd, each as host:port, http://host:port or https://host:port. TLS is used if one says
	// https or TLS is set, and for all of them alike.
	Endpoints []string
	// Key is the key, such as /drossel/policies.
	Key string
	// Username and Password are for an etcd with authentication: of a user with a role that may read the key. Both or none.
	Username, Password string
	// TLS is how to trust etcd, and who we are to it. Nil with an https endpoint trusts whom the system trusts.
	TLS *tls.Config
	// Timeout bounds how long one connection or one answer may take, 0 for 5 s. What takes longer is tried again.
	Timeout time.Duration
}

// complete checks the configuration and returns it with what is left out filled in: every endpoint has a scheme.
func (c Config) complete() (Config, error) {
	var wrong []error
	refuse := func(field, format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%s "+format, append([]any{field}, args...)...))
	}
	if len(c.Endpoints) == 0 {
		refuse("Endpoints", "are none, want at least one such as 127.0.0.1:2379")
	}
	if c.Key == "" {
		refuse("Key", "is empty, want one such as /drossel/policies")
	}
	if (c.Username == "") != (c.Password == "") {
		refuse("Username and Password", "are not both there, want both or none")
	}
	switch {
	case c.Timeout < 0:
		refuse("Timeout", "is %v, want more than 0, or 0 for %v", c.Timeout, defaultTimeout)
	case c.Timeout == 0:
		c.Timeout = defaultTimeout
	}
	secure, plain := c.TLS != nil, false
	addresses := make([]string, len(c.Endpoints))
	for i, text := range c.Endpoints {
		address, isPlain := strings.CutPrefix(text, "http://")
		address, isSecure := strings.CutPrefix(address, "https://")
		plain, secure = plain || isPlain, secure || isSecure
		addresses[i] = strings.TrimSuffix(address, "/")
		host, port, err := net.SplitHostPort(addresses[i])
		if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || host == "" || wrong != nil {
			refuse("Endpoints", "have %q, want host:port, http://host:port or https://host:port", text)
		}
	}
	if plain && secure {
		refuse("Endpoints", "have http:// though there is TLS or an https:// among them, want all of one kind")
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	for i := range addresses {
		addresses[i] = scheme + addresses[i]
	}
	c.Endpoints = addresses
	if len(wrong) > 0 {
		return c, fmt.Errorf("%w: %w", source.ErrConfig, errors.Join(wrong...))
	}
	return c, nil
}
