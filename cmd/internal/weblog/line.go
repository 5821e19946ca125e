package weblog

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// stampLayout is the time of both formats: strftime's %d/%b/%Y:%H:%M:%S %z.
const stampLayout = "02/Jan/2006:15:04:05 -0700"

// What is wrong with a line, in the order in which it is read.
var (
	errHost    = errors.New("no remote host at its start")
	errStamp   = errors.New("no [time] after host, ident and user")
	errTime    = errors.New("time is no time like 02/Jan/2006:15:04:05 +0000")
	errYear    = errors.New("year is not in 1970 to 2261")
	errRequest = errors.New(`no "request" in closed quotes after the time`)
	errStatus  = errors.New("status is not three digits")
	errBytes   = errors.New("size is not a whole number")
	errReferer = errors.New(`no "referer" in closed quotes after the size`)
	errAgent   = errors.New(`no "agent" in closed quotes after the referer`)
)

// parseLine reads a line that has no line ending:
//
//	host ident user [time] "request" status bytes
//	host ident user [time] "request" status bytes "referer" "agent" anything
//
// One space stands between fields. Line is left at 0.
func parseLine(line string) (Entry, error) {
	host, rest, _ := strings.Cut(line, " ")
	if host == "" {
		return Entry{}, errHost
	}
	ident, rest, _ := strings.Cut(rest, " ")
	user, rest, ok := strings.Cut(rest, " [") // a user's name may have spaces
	if !ok {
		return Entry{}, errStamp
	}
	stamp, rest, ok := strings.Cut(rest, "] ")
	if !ok {
		return Entry{}, errStamp
	}
	at, err := time.Parse(stampLayout, stamp)
	if err != nil {
		return Entry{}, errTime
	}
	at = at.UTC()
	if at.Year() < 1970 || at.Year() > 2261 { // nanoseconds since 1970 end in 2262
		return Entry{}, errYear
	}
	e := Entry{At: at, IP: text(host), Ident: text(ident), User: text(user)}
	if e.User == `""` { // how Apache writes a name that was given and is empty
		e.User = ""
	}

	request, rest, ok := quoted(rest)
	if !ok {
		return Entry{}, errRequest
	}
	e.setRequest(request)
	status, rest, _ := strings.Cut(rest, " ")
	if e.Status, ok = number(status, 3); !ok || status != "-" && len(status) != 3 {
		return Entry{}, errStatus
	}
	size, rest, _ := strings.Cut(rest, " ")
	n, ok := number(size, 18)
	if !ok {
		return Entry{}, errBytes
	}
	e.Bytes = int64(n)
	if strings.TrimSpace(rest) == "" { // the common format ends here
		return e, nil
	}
	if e.Referer, rest, ok = quoted(rest); !ok {
		return Entry{}, errReferer
	}
	if e.Agent, _, ok = quoted(rest); !ok {
		return Entry{}, errAgent
	}
	return e, nil
}

// setRequest takes a request line to pieces: method, target, protocol. Anything may stand where the client should have
// put one; the pieces stay empty then.
func (e *Entry) setRequest(request string) {
	method, target, ok := strings.Cut(request, " ")
	if !ok || !isMethod(method) {
		return
	}
	proto := ""
	if i := strings.LastIndexByte(target, ' '); i >= 0 && strings.HasPrefix(target[i+1:], "HTTP/") {
		target, proto = target[:i], target[i+1:]
	} else if !strings.HasPrefix(target, "/") { // HTTP/0.9 names no protocol
		return
	}
	if target == "" {
		return
	}
	e.Method, e.Proto = method, proto
	if method == "CONNECT" {
		e.Host = target
		return
	}
	target, e.Query, _ = strings.Cut(target, "?")
	if scheme, after, ok := strings.Cut(target, "://"); ok && (scheme == "http" || scheme == "https") {
		e.Host, target, _ = strings.Cut(after, "/")
		target = "/" + target
	}
	e.Path = target
}

func isMethod(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// number reads a whole number of up to digits decimal digits, or "-" as 0.
func number(s string, digits int) (int, bool) {
	if s == "-" {
		return 0, true
	}
	if len(s) > digits || strings.HasPrefix(s, "+") {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && s[0] != '-'
}

// quoted splits s into the text of the quotes that it starts with and what stands after them and a space. ok is false
// if it starts with none, or they don't close, or something else follows.
func quoted(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			value, rest = s[1:i], s[i+1:]
			if rest != "" && rest[0] != ' ' {
				return "", "", false
			}
			return text(value), strings.TrimPrefix(rest, " "), true
		}
	}
	return "", "", false
}
