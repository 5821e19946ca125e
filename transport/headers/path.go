package headers

import (
	"net/url"
	"path"
	"strings"
)

// Path returns the path of a URI, which may be a whole URL or what a request line has, in one spelling for all that services take for
// the same: decoded, without dot segments (RFC 3986, sections 6.2.2 and 5.2.4), and with one slash for several. Otherwise a client would
// get past a limit of /pages/* as /%70ages/1. An encoded slash is none, and stays %2F; an encoded % stays %25, so that both can be told apart.
func Path(uri string) string {
	if scheme, rest, found := strings.Cut(uri, "://"); found && !strings.ContainsAny(scheme, "/?#") {
		uri = "/"
		if begin := strings.IndexAny(rest, "/?#"); begin >= 0 && rest[begin] == '/' {
			uri = rest[begin:]
		}
	}
	if end := strings.IndexAny(uri, "?#"); end >= 0 {
		uri = uri[:end]
	}
	if !strings.HasPrefix(uri, "/") {
		return uri // the * of OPTIONS, or the host and port of CONNECT
	}
	segments := strings.Split(uri, "/")
	for i, s := range segments {
		if text, err := url.PathUnescape(s); err == nil { // else it stays as it is, which no sound path is decoded to
			segments[i] = encoded.Replace(text)
		}
	}
	clean := path.Clean(strings.Join(segments, "/"))
	if last := segments[len(segments)-1]; clean != "/" && (last == "" || last == "." || last == "..") {
		clean += "/" // as RFC 3986 has it, and not path.Clean
	}
	return clean
}

var encoded = strings.NewReplacer("%", "%25", "/", "%2F")
