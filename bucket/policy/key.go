package policy

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The first byte of an encoded key says whose buckets it is among. These are part of the identity of every bucket.
const (
	policyKey = 1
	inlineKey = 2
)

// AppendKey appends the text that the id of a group of buckets is hashed from: the policy's name and the parts of the
// key, each after its length, so that no two keys have the same text. The parts are taken byte for byte. It does not
// allocate if dst has room.
//
// The error wraps ErrInvalid and dst is returned as it was: if a key attribute is absent (an empty one counts as
// absent; an empty part of Parts does not), if Key is given and the policy has not exactly one key attribute, if the
// number of Parts is not that of the key attributes, or if the parts have more than MaxKeyBytes together.
func (p *Policy) AppendKey(dst []byte, req *Request) ([]byte, error) {
	if len(p.Key) == 1 && req.Parts == nil && req.Key != "" && len(req.Key) <= MaxKeyBytes { // nearly every request
		dst = append(dst, policyKey)
		dst = appendPart(dst, p.Name)
		dst = append(dst, 1)
		return appendPart(dst, req.Key), nil
	}
	if err := p.checkKey(req); err != nil {
		return dst, err
	}
	return p.appendKey(dst, policyKey, p.Name, len(p.Key), req), nil
}

// AppendInlineKey does what AppendKey does for a request with a limit of its own, whose buckets are apart from those
// of any policy. p is the policy that the request names, or nil if there is none: the key is then Parts or else Key,
// attributes are not read, and the name is 1 to MaxNameBytes of any bytes. The limit is no part of the key: a request
// with another limit changes the live bucket.
func AppendInlineKey(dst []byte, p *Policy, req *Request) ([]byte, error) {
	if p != nil {
		if err := p.checkKey(req); err != nil {
			return dst, err
		}
		return p.appendKey(dst, inlineKey, p.Name, len(p.Key), req), nil
	}
	if err := checkFreeKey(req); err != nil {
		return dst, err
	}
	return p.appendKey(dst, inlineKey, req.Policy, p.parts(req), req), nil
}

// KeyText returns the key for people to read: its parts joined with "|". A part that is empty, that is not printable
// UTF-8, or that could be taken for more than one, is quoted as in Go. p may be nil, as in AppendInlineKey. It is no
// identity, and checks nothing: an absent part is shown as "".
func (p *Policy) KeyText(req *Request) string {
	var text strings.Builder
	for i := range p.parts(req) {
		if i > 0 {
			text.WriteByte('|')
		}
		if part := p.part(req, i); plain(part) {
			text.WriteString(part)
		} else {
			text.WriteString(strconv.Quote(part))
		}
	}
	return text.String()
}

func (p *Policy) appendKey(dst []byte, first byte, name string, parts int, req *Request) []byte {
	dst = append(dst, first)
	dst = appendPart(dst, name)
	dst = binary.AppendUvarint(dst, uint64(parts))
	for i := range parts {
		dst = appendPart(dst, p.part(req, i))
	}
	return dst
}

func appendPart(dst []byte, part string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(part))), part...)
}

// parts returns how many parts the key of the request has. p may be nil.
func (p *Policy) parts(req *Request) int {
	switch {
	case req.Parts != nil:
		return len(req.Parts)
	case req.Key != "":
		return 1
	case p != nil:
		return len(p.Key)
	}
	return 0
}

// part returns part i of the key, i < p.parts(req).
func (p *Policy) part(req *Request, i int) string {
	switch {
	case req.Parts != nil:
		return req.Parts[i]
	case req.Key != "":
		return req.Key
	}
	return req.Attributes[p.Key[i]]
}

func (p *Policy) checkKey(req *Request) error {
	switch {
	case req.Parts != nil:
		if len(req.Parts) != len(p.Key) {
			return fmt.Errorf("%w: policy %s %s: want %d parts, not %d",
				ErrInvalid, quoted(p.Name), p.keyedBy(), len(p.Key), len(req.Parts))
		}
	case req.Key != "":
		switch len(p.Key) {
		case 1:
		case 0:
			return fmt.Errorf("%w: policy %s %s: leave the key out", ErrInvalid, quoted(p.Name), p.keyedBy())
		default:
			return fmt.Errorf("%w: policy %s %s: give parts or attributes instead of one key",
				ErrInvalid, quoted(p.Name), p.keyedBy())
		}
	default:
		for _, name := range p.Key {
			if req.Attributes[name] == "" {
				return fmt.Errorf("%w: policy %s %s: attribute %s is absent or empty",
					ErrInvalid, quoted(p.Name), p.keyedBy(), quoted(name))
			}
		}
	}
	return p.checkKeyBytes(req)
}

// checkFreeKey checks the key of a request that names no known policy.
func checkFreeKey(req *Request) error {
	switch {
	case req.Policy == "" || len(req.Policy) > MaxNameBytes:
		return fmt.Errorf("%w: a policy name of %d bytes, want 1 to %d: it names the space of the key",
			ErrInvalid, len(req.Policy), MaxNameBytes)
	case req.Parts == nil && req.Key == "":
		return fmt.Errorf("%w: no key: %s is not a known policy whose key attributes could be read, give key or parts",
			ErrInvalid, quoted(req.Policy))
	case len(req.Parts) > MaxKeyParts:
		return fmt.Errorf("%w: key of %d parts, want at most %d", ErrInvalid, len(req.Parts), MaxKeyParts)
	}
	return (*Policy)(nil).checkKeyBytes(req)
}

func (p *Policy) checkKeyBytes(req *Request) error {
	size := 0
	for i := range p.parts(req) {
		size += len(p.part(req, i))
	}
	if size > MaxKeyBytes {
		return fmt.Errorf("%w: key of %d bytes, want at most %d: send a hash of what is longer",
			ErrInvalid, size, MaxKeyBytes)
	}
	return nil
}

// keyedBy says what the key is formed from.
func (p *Policy) keyedBy() string {
	if len(p.Key) == 0 {
		return "has no key"
	}
	return "is keyed by " + listed(p.Key)
}

// plain says whether a part of a key can be shown as it is.
func plain(part string) bool {
	if part == "" || !utf8.ValidString(part) {
		return false
	}
	for _, r := range part {
		if r == '|' || r == '"' || !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}
