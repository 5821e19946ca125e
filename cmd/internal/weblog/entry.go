package weblog

import (
	"strconv"
	"time"
)

// Entry is one request of a log. A text that the log gives as "-" is empty here: the server did not know it.
type Entry struct {
	// Line is the number of its line, from 1.
	Line int
	// At is when the server says the request came, in UTC. Most servers write whole seconds.
	At time.Time
	// IP is the remote host as logged: an IPv4 or IPv6 address, or a name if the server looks names up.
	IP string
	// Ident and User are the names the client gave: by RFC 1413, and by HTTP authentication.
	Ident, User string
	// Method, Path, Query and Proto are the request line, in pieces. Path has no query and Query no question mark;
	// neither is decoded. All are empty if what the client sent was no request line; it came all the same.
	Method, Path, Query, Proto string
	// Host is the host in the request line, which only requests to a proxy carry.
	Host string
	// Status is the HTTP status, three digits; 0 if the log has none.
	Status int
	// Bytes is the size of the answer's body; 0 if the log has none.
	Bytes int64
	// Referer and Agent are the headers of the combined format; empty in the common one.
	Referer, Agent string
}

var attributes = []struct {
	name string
	of   func(*Entry) string
}{
	{"agent", func(e *Entry) string { return e.Agent }},
	{"host", func(e *Entry) string { return e.Host }},
	{"ident", func(e *Entry) string { return e.Ident }},
	{"ip", func(e *Entry) string { return e.IP }},
	{"method", func(e *Entry) string { return e.Method }},
	{"path", func(e *Entry) string { return e.Path }},
	{"proto", func(e *Entry) string { return e.Proto }},
	{"query", func(e *Entry) string { return e.Query }},
	{"referer", func(e *Entry) string { return e.Referer }},
	{"route", func(e *Entry) string { return e.Path }}, // what policies call it
	{"status", func(e *Entry) string {
		if e.Status == 0 {
			return ""
		}
		return strconv.Itoa(e.Status)
	}},
	{"user", func(e *Entry) string { return e.User }},
}

// AttributeNames returns the names that Attribute knows, sorted: agent, host, ident, ip, method, path, proto, query,
// referer, route (the same as path), status and user. The slice is the caller's.
func AttributeNames() []string {
	names := make([]string, len(attributes))
	for i, a := range attributes {
		names[i] = a.name
	}
	return names
}

// Attribute returns the value of the attribute called name, and whether the entry has it. It has none if the log gives
// "-" or nothing, or if name is not one of AttributeNames.
func (e *Entry) Attribute(name string) (string, bool) {
	for _, a := range attributes {
		if a.name == name {
			value := a.of(e)
			return value, value != ""
		}
	}
	return "", false
}

// Attributes returns all attributes that the entry has, by name. The map is the caller's.
func (e *Entry) Attributes() map[string]string {
	m := make(map[string]string, len(attributes))
	for _, a := range attributes {
		if value := a.of(e); value != "" {
			m[a.name] = value
		}
	}
	return m
}
