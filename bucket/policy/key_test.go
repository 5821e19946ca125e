package policy_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

func TestAppendKeyBytes(t *testing.T) {
	one, two, none := policyOf(t, perSecond("api", 1, "user")), policyOf(t, perSecond("llm", 1, "tenant", "model")),
		policyOf(t, perSecond("all", 1))
	inline := &bucket.Limit{Count: 1, Per: 1, Burst: 1}
	for _, c := range []struct {
		name string
		p    *policy.Policy
		req  policy.Request
		want string
	}{
		{"key", one, policy.Request{Key: "bob"}, "\x01\x03api\x01\x03bob"},
		{"parts", one, policy.Request{Parts: []string{"bob"}}, "\x01\x03api\x01\x03bob"},
		{"attributes", one, policy.Request{Attributes: map[string]string{"user": "bob", "ip": "::1"}},
			"\x01\x03api\x01\x03bob"},
		{"parts before key", one, policy.Request{Parts: []string{"bob"}, Key: "eve"}, "\x01\x03api\x01\x03bob"},
		{"key before attributes", one, policy.Request{Key: "bob", Attributes: map[string]string{"user": "eve"}},
			"\x01\x03api\x01\x03bob"},
		{"empty part", one, policy.Request{Parts: []string{""}}, "\x01\x03api\x01\x00"},
		{"two attributes", two, policy.Request{Attributes: map[string]string{"model": "x", "tenant": "acme"}},
			"\x01\x03llm\x02\x04acme\x01x"},
		{"no key", none, policy.Request{Attributes: map[string]string{"user": "bob"}}, "\x01\x03all\x00"},
		{"no parts", none, policy.Request{Parts: []string{}}, "\x01\x03all\x00"},
		{"long part", one, policy.Request{Key: strings.Repeat("k", 200)},
			"\x01\x03api\x01\xc8\x01" + strings.Repeat("k", 200)},
		{"inline", one, policy.Request{Limit: inline, Attributes: map[string]string{"user": "bob"}},
			"\x02\x03api\x01\x03bob"},
		{"inline, no policy", nil, policy.Request{Limit: inline, Policy: "api", Key: "bob"}, "\x02\x03api\x01\x03bob"},
		{"inline, no policy, parts", nil, policy.Request{Limit: inline, Policy: "x y", Parts: []string{"a", ""}},
			"\x02\x03x y\x02\x01a\x00"},
		{"inline, no policy, no parts", nil, policy.Request{Limit: inline, Policy: "é", Parts: []string{}},
			"\x02\x02é\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			appendKey := func(dst []byte) ([]byte, error) {
				if c.req.Limit != nil {
					return policy.AppendInlineKey(dst, c.p, &c.req)
				}
				return c.p.AppendKey(dst, &c.req)
			}
			if got, err := appendKey([]byte("x")); err != nil || string(got) != "x"+c.want {
				t.Errorf("got %q, %v, want %q", got, err, "x"+c.want)
			}
		})
	}
}

func TestAppendKeyRefuses(t *testing.T) {
	one, two, none := policyOf(t, perSecond("api", 1, "user")), policyOf(t, perSecond("llm", 1, "tenant", "model")),
		policyOf(t, perSecond("all", 1))
	for _, c := range []struct {
		name string
		p    *policy.Policy
		req  policy.Request
		want string
	}{
		{"C110 nothing", one, policy.Request{}, `policy "api" is keyed by "user": attribute "user" is absent or empty`},
		{"C110 header is empty", one, policy.Request{Attributes: map[string]string{"user": ""}},
			`policy "api" is keyed by "user": attribute "user" is absent or empty`},
		{"one of two", two, policy.Request{Attributes: map[string]string{"tenant": "acme"}},
			`policy "llm" is keyed by "tenant", "model": attribute "model" is absent or empty`},
		{"key for two", two, policy.Request{Key: "acme"},
			`policy "llm" is keyed by "tenant", "model": give parts or attributes instead of one key`},
		{"key for none", none, policy.Request{Key: "bob"}, `policy "all" has no key: leave the key out`},
		{"parts for none", none, policy.Request{Parts: []string{"bob"}}, `policy "all" has no key: want 0 parts, not 1`},
		{"too few parts", two, policy.Request{Parts: []string{"acme"}},
			`policy "llm" is keyed by "tenant", "model": want 2 parts, not 1`},
		{"no parts", one, policy.Request{Parts: []string{}}, `policy "api" is keyed by "user": want 1 parts, not 0`},
		{"C109 too long", one, policy.Request{Key: strings.Repeat("é", policy.MaxKeyBytes/2) + "x"},
			"key of 4097 bytes, want at most 4096: send a hash of what is longer"},
		{"too long together", two, policy.Request{Parts: []string{strings.Repeat("a", 4000), strings.Repeat("b", 97)}},
			"key of 4097 bytes, want at most 4096: send a hash of what is longer"},
		{"too long as attribute", one, policy.Request{Attributes: map[string]string{"user": strings.Repeat("a", 5000)}},
			"key of 5000 bytes, want at most 4096: send a hash of what is longer"},
		{"inline without key", nil, policy.Request{Policy: "x", Attributes: map[string]string{"user": "bob"}},
			`no key: "x" is not a known policy whose key attributes could be read, give key or parts`},
		{"inline without name", nil, policy.Request{Key: "bob"},
			"a policy name of 0 bytes, want 1 to 128: it names the space of the key"},
		{"inline with long name", nil, policy.Request{Policy: strings.Repeat("x", 129), Key: "bob"},
			"a policy name of 129 bytes, want 1 to 128: it names the space of the key"},
		{"inline with many parts", nil, policy.Request{Policy: "x", Parts: make([]string, 17)},
			"key of 17 parts, want at most 16"},
		{"inline too long", nil, policy.Request{Policy: "x", Key: strings.Repeat("k", 4097)},
			"key of 4097 bytes, want at most 4096: send a hash of what is longer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := func(got []byte, err error) {
				t.Helper()
				if string(got) != "x" || !errors.Is(err, policy.ErrInvalid) || err.Error() != "invalid request: "+c.want {
					t.Errorf("got %q, %v\nwant %s", got, err, c.want)
				}
			}
			check(policy.AppendInlineKey([]byte("x"), c.p, &c.req))
			if c.p != nil {
				check(c.p.AppendKey([]byte("x"), &c.req))
			}
		})
	}
}

// distinct says whether the keys of all requests are different.
func distinct(t *testing.T, p *policy.Policy, requests ...policy.Request) {
	t.Helper()
	var keys []string
	for _, req := range requests {
		key, err := p.AppendKey(nil, &req)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(keys, string(key)) {
			t.Errorf("%+v has the key %q of another", req, key)
		}
		keys = append(keys, string(key))
	}
}

func TestKeysOfCases(t *testing.T) {
	two, one := policyOf(t, perSecond("p", 1, "a", "b")), policyOf(t, perSecond("p", 1, "user"))
	t.Run("C103", func(t *testing.T) {
		distinct(t, two, policy.Request{Parts: []string{"a", "bc"}}, policy.Request{Parts: []string{"ab", "c"}},
			policy.Request{Parts: []string{"a:b", "c"}}, policy.Request{Parts: []string{"a", "b:c"}})
	})
	t.Run("C107", func(t *testing.T) {
		distinct(t, one, policy.Request{Key: "john'doe"}, policy.Request{Key: "johndoe"}, policy.Request{Key: "john&#39;doe"},
			policy.Request{Key: "ключ-é"}, policy.Request{Key: "ключ-e\u0301"}, policy.Request{Key: "ключ-\xe9"})
	})
	t.Run("C109", func(t *testing.T) {
		distinct(t, one, policy.Request{Key: strings.Repeat("é", 200)}, policy.Request{Key: strings.Repeat("é", 199)},
			policy.Request{Key: strings.Repeat("é", policy.MaxKeyBytes/2)})
	})
}

// TestKeysAreInjective: two requests have the same key only if policy, kind and all parts are the same.
func TestKeysAreInjective(t *testing.T) {
	// Few letters, with those that an encoding is likely to be made of, so that collisions would be found.
	text := rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 2, 3, 'a', '|'}), 0, 4, -1)
	name := rapid.StringOfN(rapid.SampledFrom([]rune{1, 2, 'a'}), 1, 3, -1)
	type key struct {
		inline bool
		name   string
		parts  []string
	}
	draw := rapid.Custom(func(t *rapid.T) key {
		return key{rapid.Bool().Draw(t, "inline"), name.Draw(t, "name"), rapid.SliceOfN(text, 0, 3).Draw(t, "parts")}
	})
	encode := func(t *rapid.T, k key) []byte {
		req := &policy.Request{Policy: k.name, Parts: append([]string{}, k.parts...)}
		p := policy.ReadyKey(&policy.Policy{Name: k.name, Key: make([]string, len(k.parts))})
		encoded, err := p.AppendKey(nil, req)
		if k.inline {
			encoded, err = policy.AppendInlineKey(nil, nil, req)
		}
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	rapid.Check(t, func(t *rapid.T) {
		a := draw.Draw(t, "a")
		b := draw.Draw(t, "b")
		same := a.inline == b.inline && a.name == b.name && slices.Equal(a.parts, b.parts)
		ka, kb := encode(t, a), encode(t, b)
		if bytes.Equal(ka, kb) != same {
			t.Fatalf("%+v is %q\n%+v is %q", a, ka, b, kb)
		}
		if !same && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
			t.Fatalf("%q and %q: one begins with the other", ka, kb)
		}
	})
}

func TestAppendKeyDoesNotAllocate(t *testing.T) {
	p := policyOf(t, perSecond("llm", 1, "tenant", "model"))
	dst := make([]byte, 0, 256)
	for name, req := range map[string]*policy.Request{
		"parts":      {Parts: []string{"acme", "large"}},
		"attributes": {Attributes: map[string]string{"tenant": "acme", "model": "large"}},
	} {
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := p.AppendKey(dst, req); err != nil {
				t.Error(err)
			}
			if _, err := policy.AppendInlineKey(dst, p, req); err != nil {
				t.Error(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations, want none", name, allocs)
		}
	}
}

func TestKeyText(t *testing.T) {
	one, two := policyOf(t, perSecond("api", 1, "user")), policyOf(t, perSecond("llm", 1, "tenant", "model"))
	for _, c := range []struct {
		p    *policy.Policy
		req  policy.Request
		want string
	}{
		{one, policy.Request{Key: "bob"}, "bob"},
		{one, policy.Request{Key: "john'doe"}, "john'doe"},
		{one, policy.Request{Key: "ключ-é b"}, "ключ-é b"},
		{one, policy.Request{Key: "a\nb"}, `"a\nb"`},
		{one, policy.Request{Key: "\xe9"}, `"\xe9"`},
		{one, policy.Request{Key: "\ufffd"}, "\ufffd"},
		{one, policy.Request{Key: "a|b"}, `"a|b"`},
		{one, policy.Request{Key: `say "a"`}, `"say \"a\""`},
		{one, policy.Request{}, `""`},
		{two, policy.Request{Parts: []string{"acme", "large"}}, "acme|large"},
		{two, policy.Request{Parts: []string{"acme", ""}}, `acme|""`},
		{two, policy.Request{Attributes: map[string]string{"model": "large", "tenant": "acme"}}, "acme|large"},
		{two, policy.Request{Attributes: map[string]string{"model": "large"}}, `""|large`},
		{nil, policy.Request{Policy: "x", Key: "bob"}, "bob"},
		{nil, policy.Request{Policy: "x"}, ""},
		{policyOf(t, perSecond("all", 1)), policy.Request{}, ""},
	} {
		if got := c.p.KeyText(&c.req); got != c.want {
			t.Errorf("%+v: %s, want %s", c.req, got, c.want)
		}
	}
}
