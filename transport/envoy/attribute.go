package envoy

import (
	"strconv"
	"strings"
)

// The attributes that every descriptor has, whatever its entries.
const (
	// DomainAttribute is the domain of the request.
	DomainAttribute = "domain"
	// DescriptorAttribute is what DescriptorText returns.
	DescriptorAttribute = "descriptor"
)

// notAttribute is the word of a condition that says what must not hold, so no condition could ask for an attribute of that name.
const notAttribute = "not"

// AttributeNames returns the names of the attributes that entries with these keys become, in their order, each once. A key is its own
// name, but for these: a byte that can't be in a name, or means something there, is written as in a URL, so "a b" is "a%20b"; and a
// name that is taken gets a number, so the second "user" is "user#2". Taken from the start are domain, descriptor and not.
func AttributeNames(keys []string) []string {
	names := make([]string, len(keys))
	taken := reserved(make(map[string]string, len(keys)+3))
	for i, key := range keys {
		names[i] = fresh(escaped(key), taken)
		taken[names[i]] = ""
	}
	return names
}

// DescriptorText returns the value of the attribute descriptor: the keys with commas between them, in which bytes are escaped as in
// AttributeNames. No two lists of keys have the same text.
func DescriptorText(keys []string) string {
	if len(keys) == 1 {
		return escaped(keys[0])
	}
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = escaped(key)
	}
	return strings.Join(all, ",")
}

// AttributeValue returns the value of the attribute that an entry with this value becomes: the value itself. But an attribute that is
// empty is absent, and an entry is not, so an empty value is a zero byte, and a value that begins with zero bytes has one more.
func AttributeValue(value string) string {
	if value == "" || value[0] == 0 {
		return "\x00" + value
	}
	return value
}

func reserved(attributes map[string]string) map[string]string {
	attributes[DomainAttribute], attributes[DescriptorAttribute], attributes[notAttribute] = "", "", ""
	return attributes
}

// fresh returns the name, with a number if it is taken.
func fresh(name string, taken map[string]string) string {
	if _, is := taken[name]; !is {
		return name
	}
	for n := 2; ; n++ {
		numbered := name + "#" + strconv.Itoa(n)
		if _, is := taken[numbered]; !is {
			return numbered
		}
	}
}

// stands says whether a byte stands for itself in a name. What does not is no part of a name, or has a meaning: "|" in the key of a
// policy, "*" in a pattern, "," in the text of a descriptor, "#" and "%" here.
func stands(c byte) bool { return c > ' ' && c <= '~' && strings.IndexByte("\"'`\\|*,#%", c) < 0 }

func escaped(key string) string {
	plain := true
	for i := range len(key) {
		plain = plain && stands(key[i])
	}
	if plain {
		return key
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; stands(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		}
	}
	return b.String()
}
