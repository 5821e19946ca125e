package policy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The first byte of an encoded key says whose buckets it is among. These are part of the identity of every bucket.
const (
	policyKey = 1
	inlineKey = 2
	shadowKey = 3
)

// part is one part of a policy's key, made ready.
type part struct {
	names   []string // of attributes: the first that is present counts
	kinds   []Attribute
	address bool // one of them is
}

func partsOf(key []string, kinds map[string]Attribute) (all []part) {
	for _, text := range key {
		p := part{names: strings.Split(text, "|")}
		for _, name := range p.names {
			kind := kinds[name]
			p.kinds = append(p.kinds, kind)
			p.address = p.address || kind.isAddress()
		}
		all = append(all, p)
	}
	return all
}

// ErrMissingKey is wrapped, beside ErrInvalid, by the error about a request that lacks a part of a policy's key.
var ErrMissingKey = errors.New("a part of the key is missing")

// missingKey is such an error.
type missingKey struct{ error }

func (e missingKey) Unwrap() []error { return []error{e.error, ErrMissingKey} }

// AppendKey appends the text that the id of a group of buckets is hashed from: the policy's name and the parts of the
// key, each after its length, so that no two keys have the same text. The parts are taken byte for byte, but for addresses. It does
// not allocate if dst has room.
//
// The error wraps ErrInvalid and dst is returned as it was: if a part of the key is absent, which wraps ErrMissingKey as well (an
// empty attribute counts as absent; an empty part of Parts does not), if Key is given and the policy has not exactly one key
// attribute, if the number of Parts is not that of the key attributes, if what should be an address is none, or if the parts have
// more than MaxKeyBytes together. The policy is one of a Set.
func (p *Policy) AppendKey(dst []byte, req *Request) ([]byte, error) {
	if len(p.parts) == 1 && req.Parts == nil && req.Key != "" && len(req.Key) <= MaxKeyBytes && !p.parts[0].address { // nearly every request
		dst = append(dst, p.space())
		dst = appendPart(dst, p.Name)
		dst = append(dst, 1)
		return appendPart(dst, req.Key), nil
	}
	if err := p.checkKey(req); err != nil {
		return dst, err
	}
	return p.appendKey(dst, p.space(), req)
}

func (p *Policy) space() byte {
	if p.shadow {
		return shadowKey
	}
	return policyKey
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
		return p.appendKey(dst, inlineKey, req)
	}
	if err := checkFreeKey(req); err != nil {
		return dst, err
	}
	dst = append(dst, inlineKey)
	dst = appendPart(dst, req.Policy)
	parts := req.Parts
	if parts == nil {
		parts = []string{req.Key}
	}
	dst = binary.AppendUvarint(dst, uint64(len(parts)))
	for _, part := range parts {
		dst = appendPart(dst, part)
	}
	return dst, nil
}

// KeyText returns the key for people to read: its parts joined with "|". A part that is empty, that is not printable
// UTF-8, or that could be taken for more than one, is quoted as in Go; of an address it is what counts of it, and of a secret three
// dots. p may be nil, as in AppendInlineKey. It checks nothing: an absent part is shown as "".
func (p *Policy) KeyText(req *Request) string {
	if p == nil {
		return freeKeyText(req)
	}
	if p.parts == nil && len(p.Key) > 0 { // it is not one of a set
		c := *p
		c.parts, p = partsOf(p.Key, nil), &c
	}
	var text strings.Builder
	for i := range p.parts {
		if i > 0 {
			text.WriteByte('|')
		}
		value, of := p.part(req, i)
		text.WriteString(p.parts[i].kinds[of].text(value))
	}
	return text.String()
}

func freeKeyText(req *Request) string {
	parts := req.Parts
	if parts == nil && req.Key != "" {
		parts = []string{req.Key}
	}
	all := make([]string, len(parts))
	for i, part := range parts {
		all[i] = Attribute{}.text(part)
	}
	return strings.Join(all, "|")
}

// text is a value as people may see it.
func (a Attribute) text(value string) string {
	if a.isAddress() {
		if b, err := a.appendAddress(nil, value); err == nil {
			return string(b)
		}
	}
	switch {
	case a.Hash:
		return "..."
	case plain(value):
		return value
	}
	return strconv.Quote(value)
}

// shown is a value of an attribute as a message may have it.
func (p *Policy) shown(name, value string) string {
	if p != nil && p.kinds[name].Hash {
		return "a secret"
	}
	return quoted(value)
}

// appendKey appends a key that has been checked. A part that is not the first of its alternatives says so at the end: user 192.0.2.1
// is not address 192.0.2.1.
func (p *Policy) appendKey(dst []byte, space byte, req *Request) ([]byte, error) {
	begun := len(dst)
	dst = append(dst, space)
	dst = appendPart(dst, p.Name)
	dst = binary.AppendUvarint(dst, uint64(len(p.parts)))
	for i := range p.parts {
		value, of := p.part(req, i)
		if kind := p.parts[i].kinds[of]; kind.isAddress() {
			var room [64]byte
			b, err := kind.appendAddress(room[:0], value)
			if err != nil {
				return dst[:begun], fmt.Errorf("%w: policy %s %s: %s is %s, which is no address",
					ErrInvalid, quoted(p.Name), p.keyedBy(), p.parts[i].names[of], quoted(value))
			}
			dst = append(binary.AppendUvarint(dst, uint64(len(b))), b...)
			continue
		}
		dst = appendPart(dst, value)
	}
	for i := range p.parts {
		if _, of := p.part(req, i); of > 0 {
			dst = append(dst, byte(i), byte(of))
		}
	}
	return dst, nil
}

func appendPart(dst []byte, part string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(part))), part...)
}

// part returns part i of the key, and which of its alternatives it is. It is "" if it is absent.
func (p *Policy) part(req *Request, i int) (value string, of int) {
	switch {
	case req.Parts != nil:
		if i < len(req.Parts) {
			value = req.Parts[i]
		}
		return value, 0
	case req.Key != "":
		return req.Key, 0
	}
	for of, name := range p.parts[i].names {
		if value := req.Attributes[name]; value != "" {
			return value, of
		}
	}
	return "", 0
}

// value returns the value of an attribute of a request, which may be given as its key. p may be nil.
func (p *Policy) value(req *Request, name string) string {
	if value := req.Attributes[name]; value != "" || p == nil || req.Parts == nil && req.Key == "" {
		return value
	}
	for i := range p.parts {
		if p.parts[i].names[0] == name {
			value, _ := p.part(req, i)
			return value
		}
	}
	return ""
}

// HasSecret says whether a part of the key is a secret. The policy is one of a Set.
func (p *Policy) HasSecret() bool {
	return slices.ContainsFunc(p.parts, func(part part) bool {
		return slices.ContainsFunc(part.kinds, func(a Attribute) bool { return a.Hash })
	})
}

// EachPart calls for each part of a key that is given outright, with the attribute that it is the value of. The policy is one of a Set.
func (p *Policy) EachPart(req *Request, do func(name, value string)) {
	for i := range p.parts {
		if value, of := p.part(req, i); value != "" {
			do(p.parts[i].names[of], value)
		}
	}
}

func (p *Policy) checkKey(req *Request) error {
	switch {
	case req.Parts != nil:
		if len(req.Parts) != len(p.parts) {
			return fmt.Errorf("%w: policy %s %s: want %d parts, not %d",
				ErrInvalid, quoted(p.Name), p.keyedBy(), len(p.parts), len(req.Parts))
		}
	case req.Key != "":
		switch len(p.parts) {
		case 1:
		case 0:
			return fmt.Errorf("%w: policy %s %s: leave the key out", ErrInvalid, quoted(p.Name), p.keyedBy())
		default:
			return fmt.Errorf("%w: policy %s %s: give parts or attributes instead of one key",
				ErrInvalid, quoted(p.Name), p.keyedBy())
		}
	default:
		for i := range p.parts {
			if value, _ := p.part(req, i); value == "" {
				return missingKey{fmt.Errorf("%w: policy %s %s: attribute %s is absent or empty",
					ErrInvalid, quoted(p.Name), p.keyedBy(), quotedAll(p.parts[i].names))}
			}
		}
	}
	size := 0
	for i := range p.parts {
		value, _ := p.part(req, i)
		size += len(value)
	}
	return checkKeyBytes(size)
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
	size := len(req.Key)
	if req.Parts != nil {
		size = 0
	}
	for _, part := range req.Parts {
		size += len(part)
	}
	return checkKeyBytes(size)
}

func checkKeyBytes(size int) error {
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

// quotedAll quotes names, with "or" between them.
func quotedAll(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strconv.Quote(name)
	}
	return strings.Join(all, " or ")
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
