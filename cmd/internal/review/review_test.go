package review_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/review"
)

func doubts(t *testing.T, text string) (all []string) {
	t.Helper()
	set, err := policy.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range review.Doubts("f", []byte(text), set) {
		all = append(all, p.String())
	}
	return all
}

func TestDoubts(t *testing.T) {
	const above = "write attributes: {ip: {ipv4: 32, ipv6: 64}} above the policies"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "policies: {}", ""},
		{"no policy has a when", "policies: {a: {key: [], limits: [{rate: 1/s}]}, b: {key: [], limits: [{rate: 1/s}]}}", ""},
		{"for everything", `
policies:
  a: {when: {user: present}, key: [user], limits: [{rate: 1/s}], with: [b]}
  b: {key: [], limits: [{rate: 1/s}]}
  c: {when: {not: {user: root}}, key: [], limits: [{rate: 1/s}]}
  d: {key: [], limits: [{rate: 1/s}]}`,
			`f:7:3: policy "d": it has no when, so it is for every request that names no policy, beside those that have one: ` +
				`say what it is for, or name it in the with of another`},
		{"text that should be addresses", `
exempt: [{route: /x}, {ip: ["::1", 10.0.0.0/8]}]
policies:
  a: {when: {route: "/a", not: [{x: y}, {ip: 10.0.0.0/9}]}, key: [user], limits: [{rate: 1/s, when: {ip: 10.0.0.0/10}}]}
  b: {when: {client: 10.0.0.0/11}, key: [client], limits: [{rate: 1/s}], tiers: {t: {limits: [{rate: 2/s, when: {ip: 10.0.0.0/12}}]}}}`,
			`f:3:24: ip: "10.0.0.0/8" is a network, but "ip" is compared as text, so that no address matches: ` + above + `
f:5:42: ip: "10.0.0.0/9" is a network, but "ip" is compared as text, so that no address matches: ` + above + `
f:5:102: ip: "10.0.0.0/10" is a network, but "ip" is compared as text, so that no address matches: ` + above + `
f:6:14: client: "10.0.0.0/11" is a network, but "client" is compared as text, so that no address matches: ` +
				strings.Replace(above, "ip:", "client:", 1) + `
f:6:114: ip: "10.0.0.0/12" is a network, but "ip" is compared as text, so that no address matches: ` + above},
		{"addresses", "attributes: {ip: {ipv4: 32}}\nexempt: [{ip: 10.0.0.0/8}]\npolicies: {a: {key: [ip], limits: [{rate: 1/s}]}}", ""},
		{"an address by its name", `
attributes: {user_ip: {hash: true}}
policies: {a: {key: ["user|ip", Client-IP, tip, user_ip], limits: [{rate: 1/s}]}}`,
			`f:4:22: policy "a": key: "ip" is taken byte for byte: whoever has one IPv6 address has 2^64 of them, and a bucket for each: ` + above + `
f:4:33: policy "a": key: "Client-IP" is taken byte for byte: whoever has one IPv6 address has 2^64 of them, and a bucket for each: ` +
				strings.Replace(above, "ip:", "Client-IP:", 1)},
		{"refused for what it lacks", `
policies:
  anonymous: {when: {user: absent, route: /a}, key: [], limits: [{rate: 1/s}]}
  user: {when: {user: present}, key: [user], limits: [{rate: 1/s}], with: [tenant, all]}
  tenant: {key: [user, tenant], limits: [{rate: 1/s}]}
  all: {key: [], limits: [{rate: 1/s}]}`,
			`f:6:3: policy "tenant": a request that policy "anonymous" is for has no "user", which is a part of the key here, and is refused: ` +
				`say in a when what it is for, or on_missing: skip`},
		{"refused with another", `
policies:
  anonymous: {when: {user: absent, ip: absent}, key: [], limits: [{rate: 1/s}], with: [caller]}
  caller: {when: {"user": nobody}, key: ["user|ip"], limits: [{rate: 1/s}]}`,
			`f:5:3: policy "caller": a request that policy "anonymous" is for has no "user|ip", which is a part of the key here, and is refused: ` +
				`say in a when what it is for, or on_missing: skip
f:5:42: policy "caller": key: "ip" is taken byte for byte: whoever has one IPv6 address has 2^64 of them, and a bucket for each: ` + above},
		{"left out for what it lacks, or for a part of those only", `
policies:
  anonymous: {when: {user: absent}, key: [], limits: [{rate: 1/s}], with: [a, b, c, d]}
  a: {key: [user], on_missing: skip, limits: [{rate: 1/s}]}
  b: {key: [user], on_missing: deny, limits: [{rate: 1/s}]}
  c: {key: ["user|name"], limits: [{rate: 1/s}]}
  d: {key: [user], limits: [{rate: 1/s, when: {user: present}}]}`, ""},
		{"for none", `
policies:
  a: {when: {user: present, route: [/a/b, "/b/*"], not: [{method: GET}, {user: present, route: ["/b*", "/a*"]}]}, key: [], limits: [{rate: 1/s}]}
  b: {when: {user: absent, not: {user: absent}}, key: [], limits: [{rate: 1/s}]}
  c: {when: {route: "/*", not: {route: "/*"}}, key: [], limits: [{rate: 1/s}], with: [d]}
  d: {when: {user: present, not: {user: present}}, key: [], limits: [{rate: 1/s}]}`,
			`f:4:52: policy "a": every request that its when is for is one that its not is for as well, so it is for none: leave one of the two out
f:5:28: policy "b": every request that its when is for is one that its not is for as well, so it is for none: leave one of the two out
f:6:27: policy "c": every request that its when is for is one that its not is for as well, so it is for none: leave one of the two out`},
		{"for some", `
policies:
  a: {when: {user: present, not: {user: root}}, key: [], limits: [{rate: 1/s}]}
  b: {when: {route: ["/a*", /b], not: [{route: "/a/*"}, {route: /b}, {user: x}]}, key: [], limits: [{rate: 1/s}]}
  c: {when: {user: present, not: {user: absent}}, key: [], limits: [{rate: 1/s}]}
  d: {when: {route: /a/b/c, not: {route: "*x*"}}, key: [], limits: [{rate: 1/s}]}`, ""},
		{"overrides", `
attributes: {ip: {ipv6: 64}}
policies:
  a: {key: [ip], limits: [{rate: 1/s}], overrides: {"2001:db8::1": {unlimited: true}, 1.2.3.4: {unlimited: true}}}
  b: {key: [tenant, model], limits: [{rate: 1/s}], overrides: {"acme|x": {unlimited: true}, '"a|b"|x': {unlimited: true}}}
  c: {key: [user], limits: [{rate: 1/s}], overrides: {'a b': {unlimited: true}, '"a"': {unlimited: true}}}
  d: {key: ["user|ip"], limits: [{rate: 1/s}], overrides: {"2001:db8::1": {unlimited: true}}}`,
			`f:7:81: policy "c": override "\"a\"" never applies: the key is written "a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(doubts(t, "version: 1\n"+c.text+"\n"), "\n")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCount(t *testing.T) {
	set, err := policy.Parse("f", []byte(`version: 1
policies:
  a: {key: [u], limits: [{rate: 1/s}, {rate: 2/h}], tiers: {x: {limits: [{rate: 3/s}]}, y: {unlimited: true}}}
  b: {key: [u], unlimited: true, overrides: {x: {limits: [{rate: 3/s}, {rate: 9/h}]}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := review.Count(set).String(), "2 policies, 5 limits, 2 tiers, 1 override"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := review.Count(nil).String(), "0 policies, 0 limits, 0 tiers, 0 overrides"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// FuzzDoubts: there is a place for every doubt, and none of a text that Parse refuses.
func FuzzDoubts(f *testing.F) {
	for _, text := range []string{
		"version: 1\nexempt: [{ip: 10.0.0.0/8}]\npolicies: {a: {key: [ip], limits: [{rate: 1/s}], overrides: {'\"x\"': {unlimited: true}}}}",
		"version: 1\npolicies: {a: {key: [user], limits: [{rate: 1/s}]}, b: {when: {user: absent, not: {user: absent}}, key: [], unlimited: true}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := policy.Parse("f", text)
		if err != nil {
			return
		}
		for _, p := range review.Doubts("f", text, set) {
			if p.File != "f" || p.Line < 1 || p.Column < 1 || p.Text == "" {
				t.Errorf("a doubt is nowhere: %+v", p)
			}
		}
	})
}
