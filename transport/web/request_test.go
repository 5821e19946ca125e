package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

func TestDecodeCheck(t *testing.T) {
	tests := []struct {
		body string
		want policy.Request
	}{
		{`{}`, policy.Request{}},
		{" \n{\"policy\" : \"api\"}\n", policy.Request{Policy: "api"}},
		{`{"key":"k"}`, policy.Request{Parts: []string{"k"}}},
		{`{"key":""}`, policy.Request{Parts: []string{""}}},
		{`{"key":"\u00fc\ud83d\ude00\\ud800\n"}`, policy.Request{Parts: []string{"ü😀\\ud800\n"}}},
		{`{"key":"\ufffd"}`, policy.Request{Parts: []string{"\ufffd"}}},
		{`{"key_base64":"/wA="}`, policy.Request{Parts: []string{"\xff\x00"}}},
		{`{"key_base64":""}`, policy.Request{Parts: []string{""}}},
		{`{"cost":0}`, policy.Request{CheckOnly: true}},
		{`{"cost":"0"}`, policy.Request{CheckOnly: true}},
		{`{"cost":7,"check_only":true}`, policy.Request{Cost: 7, CheckOnly: true}},
		{`{"parts":["a",""]}`, policy.Request{Parts: []string{"a", ""}}},
		{`{"cost":7,"refund":true}`, policy.Request{Cost: 7, Refund: true}},
		{`{"cost":"9223372036854775807"}`, policy.Request{Cost: 1<<63 - 1}},
		{`{"cost":-9223372036854775808}`, policy.Request{Cost: -1 << 63}},
		{`{"costs":{"requests":2,"":"3"},"attributes":{"ip":"","a.b":"c"},"priority":-2147483648}`,
			policy.Request{Costs: map[string]int64{"requests": 2, "": 3}, Priority: -1 << 31,
				Attributes: map[string]string{"ip": "", "a.b": "c"}}},
		{`{"limit":{"rate":"10/min"}}`,
			policy.Request{Limit: &bucket.Limit{Count: 10, Per: time.Minute, Burst: 10}}},
		{`{"limit":{"rate":"10/min","burst":"0"}}`, policy.Request{Limit: &bucket.Limit{Count: 10, Per: time.Minute}}},
		{`{"policy":null,"key":null,"key_base64":null,"attributes":null,"cost":null,"costs":null,"limit":null,` +
			`"priority":null,"check_only":null}`, policy.Request{}},
		{`{"attributes":{"user":null}}`, policy.Request{Attributes: map[string]string{}}},
	}
	for _, tt := range tests {
		got, err := decodeCheck([]byte(tt.body))
		if err != nil {
			t.Errorf("decodeCheck(%s): %v", tt.body, err)
		} else if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("decodeCheck(%s) (-want +got):\n%s", tt.body, diff)
		}
	}
}

func TestDecodeCheckRefuses(t *testing.T) {
	const badInteger = ": want a whole number from "
	tests := []struct{ body, want string }{
		{``, "empty"},
		{" \n", "empty"},
		{`nul`, "not JSON: byte"},
		{`{"policy":"a"`, "not JSON: byte 13"},
		{`{"policy":"a",}`, "not JSON: byte 15"},
		{`{"policy":"a"} {}`, "not JSON: byte 16"},
		{`{'policy':'a'}`, "not JSON: byte 2"},
		{`null`, "want an object, not null"},
		{`"x"`, `want an object, not the string "x"`},
		{`[]`, "want an object, not an array"},
		{`{"polcy":"a"}`, `unknown field "polcy", did you mean "policy"?`},
		{`{"Policy":"a"}`, `unknown field "Policy", did you mean "policy"?`},
		{`{"check-only":true}`, `did you mean "check_only"?`},
		{`{"hits":1}`, `unknown field "hits", known are attributes, check_only, cost, costs, key, key_base64, limit, p`},
		{`{"` + strings.Repeat("x", 1000) + `":1}`, `xxx"..., known are`},
		{`{"limit":{"rate":"1/s","brust":1}}`, `unknown field "limit.brust", did you mean "burst"?`},
		{`{"key":"a","key":"b"}`, `field "key" is given twice`},
		{`{"attributes":{"ip":"a","ip":"b"}}`, `field "attributes.ip" is given twice`},
		{`{"key":"a","key_base64":"YQ=="}`, "key and key_base64: want one of them"},
		{`{"key_base64":"YQ"}`, "key_base64: want standard base64"},
		{`{"key_base64":"YR=="}`, "key_base64: want standard base64"},
		{`{"key":1}`, "key: want a string, not 1"},
		{`{"key":["a"]}`, "key: want a string, not an array"},
		{`{"attributes":{"ip":{}}}`, "attributes.ip: want a string, not an object"},
		{`{"attributes":[]}`, "attributes: want an object, not an array"},
		{`{"check_only":"true"}`, `check_only: want true or false, not the string "true"`},
		{`{"parts":["a"],"key":"a"}`, "parts, and key or key_base64: want one of them"},
		{`{"parts":[1]}`, "parts[0]: want"},
		{`{"check_only":1}`, "check_only: want true or false, not 1"},
		{`{"cost":true}`, "cost: want a whole number, not true"},
		{`{"cost":1.5}`, "cost" + badInteger},
		{`{"cost":1.0}`, "cost" + badInteger},
		{`{"cost":1e3}`, `without fraction or exponent, not "1e3"`},
		{`{"cost":"1.5"}`, "cost" + badInteger},
		{`{"cost":"+5"}`, "cost" + badInteger},
		{`{"cost":"007"}`, "cost" + badInteger},
		{`{"cost":" 7"}`, "cost" + badInteger},
		{`{"cost":"0x7"}`, "cost" + badInteger},
		{`{"cost":""}`, "cost" + badInteger},
		{`{"cost":"NaN"}`, "cost" + badInteger},
		{`{"cost":9223372036854775808}`, "from -9223372036854775808 to 9223372036854775807"},
		{`{"priority":2147483648}`, "priority: want a whole number from -2147483648 to 2147483647"},
		{`{"costs":{"requests":1.5}}`, "costs.requests" + badInteger},
		{`{"limit":"10/min"}`, "limit: want an object"},
		{`{"limit":{}}`, "limit.rate"},
		{`{"limit":{"rate":"10/fortnight"}}`, "limit.rate"},
		{`{"limit":{"rate":"10/min","burst":-1}}`, "limit.burst"},
		{"{\"key\":\"\xff\"}", "not UTF-8"},
		{`{"key":"\ud83d"}`, `byte 9: \ud83d is half a character`},
		{`{"key":"\ude00\ud83d"}`, "half a character"},
		{`{"key":"\ud83d\u0041"}`, "half a character"},
		{`{"key":"\uD83Dx"}`, "half a character"},
		{`{"\udfff":1}`, "half a character"},
		{`{"key":` + strings.Repeat("[", 60_000), "not JSON"},
		{strings.Repeat(`{"limit":`, 5_000) + "1" + strings.Repeat("}", 5_000), `unknown field "limit.limit"`},
	}
	for _, tt := range tests {
		_, err := decodeCheck([]byte(tt.body))
		if !errors.Is(err, policy.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("decodeCheck(%.60s) = %v, want ErrInvalid with %s", tt.body, err, tt.want)
		} else if len(err.Error()) > 400 {
			t.Errorf("decodeCheck(%.60s): an error of %d bytes", tt.body, len(err.Error()))
		}
	}
}

// What is accepted means what encoding/json reads in it.
func FuzzDecodeCheck(f *testing.F) {
	f.Add([]byte(`{"policy":"api","key":"k","cost":"5","attributes":{"ip":"1.2.3.4"},"costs":{"requests":1}}`))
	f.Add([]byte(`{"limit":{"rate":"10/min","burst":3},"priority":1,"check_only":true,"key_base64":"/wA="}`))
	f.Add([]byte(`{"key":"\ud83d\ude00\\","cost":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := decodeCheck(body)
		if err != nil {
			if !errors.Is(err, policy.ErrInvalid) {
				t.Fatalf("%q: %v is not ErrInvalid", body, err)
			}
			return
		}
		var plain struct {
			Policy     string
			Key        *string
			KeyBase64  *[]byte `json:"key_base64"`
			Attributes map[string]*string
			Cost       any
			Parts      *[]*string
			CheckOnly  bool `json:"check_only"`
			Refund     bool
		}
		if err := json.Unmarshal(body, &plain); err != nil {
			t.Fatalf("%q is accepted, and not JSON: %v", body, err)
		}
		want := policy.Request{Policy: plain.Policy, Refund: plain.Refund, CheckOnly: plain.CheckOnly || got.Cost == 0 && plain.Cost != nil}
		if plain.Key != nil {
			want.Parts = []string{*plain.Key}
		}
		if plain.KeyBase64 != nil {
			want.Parts = []string{string(*plain.KeyBase64)}
		}
		if plain.Parts != nil {
			want.Parts = []string{}
			for _, part := range *plain.Parts {
				want.Parts = append(want.Parts, value(part))
			}
		}
		if plain.Attributes != nil {
			want.Attributes = map[string]string{}
		}
		for name, v := range plain.Attributes {
			if v != nil {
				want.Attributes[name] = *v
			}
		}
		if f, ok := plain.Cost.(float64); ok && f != float64(got.Cost) || fmt.Sprint(got.Cost) != plain.Cost && !ok &&
			plain.Cost != nil {
			t.Fatalf("%q: cost %d, want %v", body, got.Cost, plain.Cost)
		}
		want.Cost, want.Costs, want.Limit, want.Priority = got.Cost, got.Costs, got.Limit, got.Priority
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", body, diff)
		}
	})
}

// Whatever the body, a batch is refused as a whole or each item is read or refused on its own.
func FuzzDecodeBatch(f *testing.F) {
	f.Add([]byte(`{"checks":[{"policy":"api"},null,{"cost":1.5},[[]]]}`))
	f.Add([]byte(`{"checks":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		checks, err := decodeBatch(body)
		if err != nil {
			if !errors.Is(err, policy.ErrInvalid) || checks != nil {
				t.Fatalf("%q: %v with %d checks", body, err, len(checks))
			}
			return
		}
		if checks == nil || len(checks) > MaxBatch {
			t.Fatalf("%q: %d checks", body, len(checks))
		}
		for _, raw := range checks {
			if _, err := decodeCheck(raw); err != nil && !errors.Is(err, policy.ErrInvalid) {
				t.Fatalf("%q: %v is not ErrInvalid", raw, err)
			}
		}
	})
}
