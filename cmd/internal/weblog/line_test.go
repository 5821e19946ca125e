package weblog

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseLine(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 3, 0, time.UTC)
	for name, test := range map[string]struct {
		line string
		want Entry
	}{
		"combined": {
			`192.0.2.1 - alice [01/Mar/2026:09:00:03 +0000] "GET /a/b?x=1&y=? HTTP/1.1" 200 512 "https://example.com/" "curl/8"`,
			Entry{At: at, IP: "192.0.2.1", User: "alice", Method: "GET", Path: "/a/b", Query: "x=1&y=?", Proto: "HTTP/1.1",
				Status: 200, Bytes: 512, Referer: "https://example.com/", Agent: "curl/8"},
		},
		"common": {
			`192.0.2.1 - - [01/Mar/2026:09:00:03 +0000] "HEAD / HTTP/1.0" 304 -`,
			Entry{At: at, IP: "192.0.2.1", Method: "HEAD", Path: "/", Proto: "HTTP/1.0", Status: 304},
		},
		"common, space at the end": {
			`192.0.2.1 - - [01/Mar/2026:09:00:03 +0000] "GET / HTTP/1.1" 200 7 `,
			Entry{At: at, IP: "192.0.2.1", Method: "GET", Path: "/", Proto: "HTTP/1.1", Status: 200, Bytes: 7},
		},
		"more fields": {
			`192.0.2.1 - - [01/Mar/2026:09:00:03 +0000] "GET / HTTP/1.1" 200 7 "-" "a" "198.51.100.1" 0.003`,
			Entry{At: at, IP: "192.0.2.1", Method: "GET", Path: "/", Proto: "HTTP/1.1", Status: 200, Bytes: 7, Agent: "a"},
		},
		"IPv6, zone west": {
			`2001:db8::1 - - [01/Mar/2026:03:30:03 -0530] "GET / HTTP/2.0" 200 7 "-" "-"`,
			Entry{At: at, IP: "2001:db8::1", Method: "GET", Path: "/", Proto: "HTTP/2.0", Status: 200, Bytes: 7},
		},
		"zone east, other year": {
			`h.example.net - - [01/Jan/2026:00:30:00 +0100] "GET / HTTP/1.1" 200 7`,
			Entry{At: time.Date(2025, 12, 31, 23, 30, 0, 0, time.UTC), IP: "h.example.net", Method: "GET", Path: "/",
				Proto: "HTTP/1.1", Status: 200, Bytes: 7},
		},
		"names with spaces": {
			`192.0.2.1 id carol jones [01/Mar/2026:09:00:03 +0000] "GET /a b HTTP/1.1" 200 7`,
			Entry{At: at, IP: "192.0.2.1", Ident: "id", User: "carol jones", Method: "GET", Path: "/a b", Proto: "HTTP/1.1",
				Status: 200, Bytes: 7},
		},
		"empty user": {
			`192.0.2.1 - "" [01/Mar/2026:09:00:03 +0000] "GET / HTTP/1.1" 401 7`,
			Entry{At: at, IP: "192.0.2.1", Method: "GET", Path: "/", Proto: "HTTP/1.1", Status: 401, Bytes: 7},
		},
		"escapes": {
			`- - a\"b [01/Mar/2026:09:00:03 +0000] "GET /\x41\x4a\\\t\q\x4 HTTP/1.1" 200 7 "\"" "say \"hi\"\xZZ"`,
			Entry{At: at, User: `a"b`, Method: "GET", Path: "/AJ\\\t\\q\\x4", Proto: "HTTP/1.1", Status: 200, Bytes: 7,
				Referer: `"`, Agent: `say "hi"\xZZ`},
		},
		"no status, no IP": {`- - - [01/Mar/2026:09:00:03 +0000] "GET /old" - -`, Entry{At: at, Method: "GET", Path: "/old"}},
		"proxy": {
			`192.0.2.1 - - [01/Mar/2026:09:00:03 +0000] "GET http://example.com?a=/b HTTP/1.1" 200 7`,
			Entry{At: at, IP: "192.0.2.1", Method: "GET", Host: "example.com", Path: "/", Query: "a=/b", Proto: "HTTP/1.1",
				Status: 200, Bytes: 7},
		},
		"tunnel": {
			`192.0.2.1 - - [01/Mar/2026:09:00:03 +0000] "CONNECT example.com:443 HTTP/1.1" 200 7`,
			Entry{At: at, IP: "192.0.2.1", Method: "CONNECT", Host: "example.com:443", Proto: "HTTP/1.1", Status: 200, Bytes: 7},
		},
		"all of the server": {
			`192.0.2.1 - - [01/Mar/2026:09:00:03 +0000] "OPTIONS * HTTP/1.1" 204 0`,
			Entry{At: at, IP: "192.0.2.1", Method: "OPTIONS", Path: "*", Proto: "HTTP/1.1", Status: 204},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseLine(test.line)
			if err != nil {
				t.Fatalf("parseLine: %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseLineWithoutRequest: whatever a client sent in place of a request line, the entry is there.
func TestParseLineWithoutRequest(t *testing.T) {
	want := Entry{At: time.Date(2026, 3, 1, 9, 0, 3, 0, time.UTC), IP: "192.0.2.1", Status: 400}
	for _, request := range []string{
		`-`, ``, `\x16\x03\x01 \x02`, `GET`, `GET  HTTP/1.1`, `let me in`, `G3T / HTTP/1.1`, ` / HTTP/1.1`, `\\`,
	} {
		got, err := parseLine(`192.0.2.1 - - [01/Mar/2026:09:00:03 +0000] "` + request + `" 400 -`)
		if err != nil || got != want {
			t.Errorf("request %q: %+v, %v; want %+v", request, got, err, want)
		}
	}
}

func TestParseLineRefuses(t *testing.T) {
	const head = `192.0.2.1 - - [01/Mar/2026:09:00:03 +0000] `
	for _, test := range []struct {
		line string
		want error
	}{
		{``, errHost},
		{` - - [01/Mar/2026:09:00:03 +0000] "GET / HTTP/1.1" 200 7`, errHost},
		{`hello`, errStamp},
		{`192.0.2.1 - -`, errStamp},
		{`192.0.2.1 - - [01/Mar/2026:09:00:03 +0000`, errStamp},
		{`192.0.2.1 - - [01/Mar/2026:09:00:03 +0000]"GET / HTTP/1.1" 200 7`, errStamp},
		{`192.0.2.1 - - [29/Feb/2026:09:00:03 +0000] "GET / HTTP/1.1" 200 7`, errTime},
		{`192.0.2.1 - - [01/Mar/2026:24:00:03 +0000] "GET / HTTP/1.1" 200 7`, errTime},
		{`192.0.2.1 - - [01/Mar/2026:09:00:03] "GET / HTTP/1.1" 200 7`, errTime},
		{`192.0.2.1 - - [2026-03-01T09:00:03Z] "GET / HTTP/1.1" 200 7`, errTime},
		{`192.0.2.1 - - [31/Dec/1969:23:59:59 +0000] "GET / HTTP/1.1" 200 7`, errYear},
		{`192.0.2.1 - - [01/Jan/1970:00:30:00 +0100] "GET / HTTP/1.1" 200 7`, errYear},
		{`192.0.2.1 - - [01/Jan/2262:00:00:00 +0000] "GET / HTTP/1.1" 200 7`, errYear},
		{head, errRequest},
		{head + `GET / HTTP/1.1 200 7`, errRequest},
		{head + `"GET / HTTP/1.1 200 7`, errRequest},
		{head + `"GET / HTTP/1.1\" 200 7`, errRequest},
		{head + `"GET / HTTP/1.1"200 7`, errRequest},
		{head + `"GET / "inner" HTTP/1.1" 200 7`, errRequest},
		{head + `"\`, errRequest},
		{head + `"GET / HTTP/1.1"`, errStatus},
		{head + `"GET / HTTP/1.1" OK 7`, errStatus},
		{head + `"GET / HTTP/1.1" 20 7`, errStatus},
		{head + `"GET / HTTP/1.1" 2000 7`, errStatus},
		{head + `"GET / HTTP/1.1" -20 7`, errStatus},
		{head + `"GET / HTTP/1.1" 200`, errBytes},
		{head + `"GET / HTTP/1.1" 200 x`, errBytes},
		{head + `"GET / HTTP/1.1" 200 +7`, errBytes},
		{head + `"GET / HTTP/1.1" 200 -7`, errBytes},
		{head + `"GET / HTTP/1.1" 200 -0`, errBytes},
		{head + `"GET / HTTP/1.1" 200 99999999999999999999`, errBytes},
		{head + `"GET / HTTP/1.1" 200 7 0.003`, errReferer},
		{head + `"GET / HTTP/1.1" 200 7 "-`, errReferer},
		{head + `"GET / HTTP/1.1" 200 7 "-"`, errAgent},
		{head + `"GET / HTTP/1.1" 200 7 "-" "a`, errAgent},
		{head + `"GET / HTTP/1.1" 200 7 "-" "a"b`, errAgent},
	} {
		if got, err := parseLine(test.line); !errors.Is(err, test.want) {
			t.Errorf("parseLine(%s) = %+v, %v; want error %v", test.line, got, err, test.want)
		}
	}
}

// FuzzParseLine: no line panics, and an entry that was read is the same when it is written as a log and read again.
func FuzzParseLine(f *testing.F) {
	for _, line := range []string{
		`192.0.2.1 - alice [01/Mar/2026:09:00:03 +0000] "GET /a?b HTTP/1.1" 200 512 "https://example.com/" "curl/8"`,
		`2001:db8::1 - - [01/Mar/2026:03:30:03 -0530] "\x16\x03" 400 -`,
		`- - "" [01/Mar/2026:09:00:03 +0000] "CONNECT example.com:443 HTTP/1.1" - 0 "\"" "\\"`,
		` [] "`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, err := parseLine(line)
		if err != nil {
			return
		}
		if e.At.Location() != time.UTC || e.At.UnixNano() < 0 {
			t.Errorf("%q is at %v, want UTC and after 1970", line, e.At)
		}
		if e.Status < 0 || e.Status > 999 || e.Bytes < 0 {
			t.Errorf("%q has status %d and %d bytes", line, e.Status, e.Bytes)
		}
		if strings.Contains(e.Path, "?") {
			t.Errorf("%q has a query in its path %q", line, e.Path)
		}
		for name, value := range e.Attributes() {
			if one, ok := e.Attribute(name); !ok || one != value || value == "" {
				t.Errorf("%q has attribute %s %q, alone %q, %v", line, name, value, one, ok)
			}
		}
		if shown := Printable(line, 80); utf8.RuneCountInString(shown) > 80 || strings.ContainsAny(shown, "\x1b\r\n\t") {
			t.Errorf("Printable(%q) = %q", line, shown)
		}
		again := e.IP + ` - - [` + e.At.Format(stampLayout) + `] "" 200 7 "-" "` + escape(e.Agent) + `"`
		if e.IP == "" || strings.ContainsAny(e.IP, ` \`) {
			return
		}
		want := Entry{At: e.At.Truncate(time.Second), IP: e.IP, Agent: e.Agent, Status: 200, Bytes: 7}
		if want.Agent == "-" {
			want.Agent = ""
		}
		if back, err := parseLine(again); err != nil || back != want {
			t.Errorf("%q, read as %+v, is written as %q and read as %+v, %v", line, e, again, back, err)
		}
	})
}

// escape writes every byte that could be taken for something else as nginx does.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		if c == '"' || c == '\\' || c < ' ' || c > '~' {
			b.WriteString(`\x` + string(hex[c>>4]) + string(hex[c&15]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
