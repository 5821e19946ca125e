package main

import (
	"fmt"
	"net"
	"time"

	"github.com/soheilhy/cmux"
)

// sniffTimeout is how long a connection to a listener that gRPC and HTTP share may take to say which of them it is for.
const sniffTimeout = 5 * time.Second

// listen returns the listeners of gRPC and of HTTP, nil for none. Those with one address share a listener.
func (d *doors) listen(forGRPC, forHTTP string) (g, h net.Listener, err error) {
	if forGRPC != "" {
		if g, err = d.listenAt("--grpc", forGRPC); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case forHTTP == "":
		return g, nil, nil
	case forHTTP != forGRPC || isAnyPort(forHTTP):
		h, err = d.listenAt("--http", forHTTP)
		return g, h, err
	}
	both := cmux.New(g)
	both.SetReadTimeout(sniffTimeout)
	d.serving = append(d.serving, both.Serve)
	return both.Match(cmux.HTTP2()), both.Match(cmux.Any()), nil // JSON is served by HTTP/1.1
}

// isAnyPort says whether the system chooses the port, another one each time.
func isAnyPort(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	return err == nil && port == "0"
}

func (d *doors) listenAt(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: choose another address, or none with %s \"\"", flag, err, flag)
	}
	d.listeners = append(d.listeners, l)
	return l, nil
}
