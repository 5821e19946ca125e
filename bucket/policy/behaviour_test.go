package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

const behaviours = `version: 1
policies:
  plain:
    key: []
    limits: [{rate: 5/min}, {rate: 6/min, consistency: leased}]
  direct:
    key: []
    consistency: direct
    limits: [{rate: 5/min}, {rate: 6/min, consistency: leased}]
  in-part:
    key: []
    limits: [{rate: 5/min}, {rate: 6/min, consistency: direct}]
  sampled:
    key: []
    sample: 10%
    limits: [{rate: 10/s}, {rate: 60/min, sample: "10.0%"}]
  sampled-by-limits:
    key: []
    sample: 100%
    limits: [{rate: 10/s, sample: 20%}, {rate: 60/min, sample: 20%}]
  all:
    key: []
    consistency: direct
    limits: [{rate: 10/s, sample: 100%}, {rate: 20/s}]
`

func TestParseBehaviours(t *testing.T) {
	s, err := policy.Parse("f", []byte(behaviours))
	if err != nil {
		t.Fatal(err)
	}
	const leased, direct = policy.Leased, policy.Direct
	for _, c := range []struct {
		name   string
		limits [2]policy.Consistency
		leased bool
		sample int
	}{
		{"plain", [2]policy.Consistency{leased, leased}, true, 0},
		{"direct", [2]policy.Consistency{direct, leased}, false, 0},
		{"in-part", [2]policy.Consistency{leased, direct}, false, 0},
		{"sampled", [2]policy.Consistency{leased, leased}, true, 10},
		{"sampled-by-limits", [2]policy.Consistency{leased, leased}, true, 5},
		{"all", [2]policy.Consistency{direct, direct}, false, 1},
	} {
		p, err := s.Policy(c.name)
		if err != nil {
			t.Fatal(err)
		}
		limits := [2]policy.Consistency{p.Limits[0].Consistency, p.Limits[1].Consistency}
		if limits != c.limits || p.Leased() != c.leased || p.Sample != c.sample {
			t.Errorf("%s: got %v, leased %v, sample %d, want %+v", c.name, limits, p.Leased(), p.Sample, c)
		}
	}
}

const failureRules = `version: 1
policies:
  plain:
    key: []
    limits: [{rate: 5/min}, {rate: 6/min, on_unreachable: local, on_owner_loss: replica}]
  policy:
    key: []
    on_unreachable: deny
    on_owner_loss: empty
    limits: [{rate: 5/min}, {rate: 6/min, burst: 2}]
  limits:
    key: []
    limits: [{rate: 5/min, on_unreachable: allow}, {rate: 6/min, on_owner_loss: full}]
  both:
    key: []
    on_unreachable: allow
    on_owner_loss: full
    limits: [{rate: 5/min, on_unreachable: local}, {rate: 6/min, on_unreachable: deny, on_owner_loss: replica}]
`

// TestParseTruth: YAML has several words for yes and no, and each says the same.
func TestParseTruth(t *testing.T) {
	for word, want := range map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "False": false} {
		s, err := policy.Parse("f", []byte("version: 1\npolicies: {a: {key: [], shadow: "+word+", limits: [{rate: 1/s}]}}"))
		if err != nil {
			t.Fatal(err)
		}
		if p, err := s.Policy("a"); err != nil || p.Limits[0].Shadow != want {
			t.Errorf("shadow: %s is read as %v, %v", word, p.Limits[0].Shadow, err)
		}
	}
}

func TestParseFailureRules(t *testing.T) {
	s, err := policy.Parse("f", []byte(failureRules))
	if err != nil {
		t.Fatal(err)
	}
	type rules struct {
		unreachable policy.Unreachable
		loss        bucket.OwnerLoss
	}
	for name, want := range map[string][2]rules{
		"plain":  {},
		"policy": {{policy.UnreachableDeny, bucket.LossEmpty}, {policy.UnreachableDeny, bucket.LossEmpty}},
		"limits": {{policy.UnreachableAllow, bucket.LossReplica}, {policy.UnreachableLocal, bucket.LossFull}},
		"both":   {{policy.UnreachableLocal, bucket.LossFull}, {policy.UnreachableDeny, bucket.LossReplica}},
	} {
		p, err := s.Policy(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range p.Limits {
			if got := (rules{l.OnUnreachable, l.OwnerLoss}); got != want[i] || l.Count != int64(5+i) {
				t.Errorf("%s, limit %d: got %v of %+v, want %v", name, i+1, got, l, want[i])
			}
		}
	}
}

func TestUnreachableString(t *testing.T) {
	for u, want := range map[policy.Unreachable]string{
		policy.UnreachableLocal: "local", policy.UnreachableDeny: "deny", policy.UnreachableAllow: "allow", 3: "unknown",
	} {
		if got := u.String(); got != want {
			t.Errorf("%d: got %s, want %s", u, got, want)
		}
	}
}

func TestConsistencyString(t *testing.T) {
	for c, want := range map[policy.Consistency]string{policy.Leased: "leased", policy.Direct: "direct", policy.Strict: "strict", 3: "unknown"} {
		if got := c.String(); got != want {
			t.Errorf("%d: got %s, want %s", c, got, want)
		}
	}
}

func TestParseSample(t *testing.T) {
	for text, want := range map[string]int{
		"100%": 1, "100.0%": 1, "99%": 1, "50%": 2, "33%": 3, "33.3%": 3, "33.333333%": 3, "25%": 4, "20%": 5, "14.3%": 7,
		"11%": 9, "10%": 10, "3%": 33, "2.5%": 40, "1.9%": 53, "1%": 100, "0.5%": 200, "0.1001%": 999, "0.1%": 1000,
		"0.100000%": 1000,
	} {
		p, err := parsed(fmt.Sprintf("key: [], sample: %s, limits: [{rate: 1000/s}]", text))
		if err != nil || p.Sample != want {
			t.Errorf("%s: got %+v, %v, want %d", text, p, err, want)
		}
	}
}

// parsed reads the one policy that has these fields.
func parsed(fields string) (*policy.Policy, error) {
	s, err := policy.Parse("f", []byte("version: 1\npolicies:\n  api: {"+fields+"}\n"))
	if err != nil {
		return nil, err
	}
	return s.Policy("api")
}

// TestParseRefusesBehaviours gives policies in which one thing is wrong, and the whole of its error without the file.
func TestParseRefusesBehaviours(t *testing.T) {
	const wantPercentage = "want a percentage of the checks, such as 10%"
	for _, c := range []struct{ fields, want string }{
		{"key: [], limits: [{rate: 1/s, consistency: strict}, {rate: 1/min}]",
			`3:3: policy "api": consistency: some of its limits are strict and others are not: write it once, for the policy, or make two of ` +
				`it and decide the one with the other`},
		{"key: [], consistency: strict, limits: [{rate: 1/s}], tiers: {a: {limits: [{rate: 2/s, consistency: direct}]}}",
			`3:3: policy "api": consistency: some of its limits are strict and others are not: write it once, for the policy, or make two of ` +
				`it and decide the one with the other`},
		{"key: [], limits: [{rate: 1/s, burst: 3_000_000_000_000_000, consistency: strict}]",
			`3:27: policy "api": limit 1 can't be strict: it admits 3000000000000000 at a time, want at most 2251799813685248`},
		{"key: [], strict: {shards: 2}, limits: [{rate: 5/s}]",
			`3:26: policy "api": strict: its limits are not strict: add consistency: strict, or leave it out`},
		{"key: [], consistency: strict, strict: {shards: 65}, limits: [{rate: 500/s}]",
			`3:56: policy "api": strict: shards: 65, want 1 to 64`},
		{"key: [], consistency: strict, strict: {shards: 8}, limits: [{rate: 7/s}]",
			`3:47: policy "api": strict: limit 1 admits 7 at a time, which is not one for each of 8 shards`},
		{"key: [], consistency: strict, strict: {shards: 2}, limits: [{rate: 7/s, algorithm: pacer, max_queue: 3}]",
			`3:47: policy "api": strict: limit 1 is a pacer, and what it spaces would come from 2 at once: leave shards out`},
		{"key: [], consistency: strict, strict: {shards: 2}, limits: [{rate: 7/s, algorithm: first_hit_window}]",
			`3:47: policy "api": strict: limit 1 is a first_hit_window, and each shard would begin its own: leave shards out`},
		{"key: [], consistency: strict, strict: {prefetch: 5}, limits: [{rate: 7/s, algorithm: sliding_window}]",
			`3:47: policy "api": strict: limit 1 is a sliding_window, which counts when each request came: leave prefetch out`},
		{"key: [], consistency: strict, strict: {prefetch: 5, shards: 2}, limits: [{rate: 8/s}]",
			`3:47: policy "api": strict: prefetch takes 5 at a time, and limit 1 admits 4 at a time in each shard`},
		{"key: [], consistency: strict, strict: {store: approximate, wait_replicas: 1}, limits: [{quota: 8/day}]",
			`3:47: policy "api": strict: an approximate store has neither prefetch nor wait_replicas: leave them out`},
		{"key: [], consistency: strict, strict: {store: approximate}, limits: [{rate: 8/s}]",
			`3:47: policy "api": strict: limit 1 is a token_bucket, and an approximate store has counters for windows of the clock and the calendar ` +
				`only: make it a fixed_window or a quota, or leave store out`},
		{"key: [], consistency: strict, strict: {stor: exact}, limits: [{rate: 8/s}]",
			`3:48: policy "api": strict: unknown field "stor": did you mean "store"?`},
		{"key: [], consistency: strict, sample: 50%, limits: [{rate: 2/s}]",
			`3:47: policy "api": sample: one check in 2, but limit 1 is strict, so that each is decided: leave one of the two out`},
		{"key: [], consistency: drect, limits: [{rate: 1/s}]",
			`3:31: policy "api": unknown consistency "drect": did you mean "direct"?`},
		{"key: [], limits: [{rate: 1/s, consistency: Leased}]",
			`3:52: policy "api": limit 1: unknown consistency "Leased": did you mean "leased"?`},
		{"key: [], consistency: eventual, limits: [{rate: 1/s}]",
			`3:31: policy "api": unknown consistency "eventual": want "leased", "direct", "strict"`},
		{"key: [], consistency: [direct], limits: [{rate: 1/s}]",
			`3:31: policy "api": consistency: a list here: want "leased", "direct", "strict"`},
		{"key: [], limits: [{rate: 1/s, consistency: }]",
			`3:52: policy "api": limit 1: consistency: nothing here: want "leased", "direct", "strict"`},
		{"key: [], consistancy: direct, limits: [{rate: 1/s}]",
			`3:18: policy "api": unknown field "consistancy": did you mean "consistency"?`},
		{"key: [], samples: 10%, limits: [{rate: 1/s}]",
			`3:18: policy "api": unknown field "samples": did you mean "sample"?`},
		{"key: [], consistency: direct, consistency: direct, limits: [{rate: 1/s}]",
			`3:39: policy "api": field "consistency" is there twice, first at line 3: leave one out`},

		{"key: [], on_unreachable: closed, limits: [{rate: 1/s}]",
			`3:34: policy "api": unknown on_unreachable "closed": want "local", "deny", "allow"`},
		{"key: [], limits: [{rate: 1/s, on_unreachable: alow}]",
			`3:55: policy "api": limit 1: unknown on_unreachable "alow": did you mean "allow"?`},
		{"key: [], on_unreachable: {deny: 1s}, limits: [{rate: 1/s}]",
			`3:34: policy "api": on_unreachable: a mapping here: want "local", "deny", "allow"`},
		{"key: [], limits: [{rate: 1/s, on_unreachable: }]",
			`3:55: policy "api": limit 1: on_unreachable: nothing here: want "local", "deny", "allow"`},
		{"key: [], on_unreachble: deny, limits: [{rate: 1/s}]",
			`3:18: policy "api": unknown field "on_unreachble": did you mean "on_unreachable"?`},
		{"key: [], on_owner_loss: restore, limits: [{rate: 1/s}]",
			`3:33: policy "api": unknown on_owner_loss "restore": want "replica", "empty", "full"`},
		{"key: [], limits: [{rate: 1/s}, {rate: 2/s, on_owner_loss: ful}]",
			`3:67: policy "api": limit 2: unknown on_owner_loss "ful": did you mean "full"?`},
		{"key: [], on_owner_loss: [], limits: [{rate: 1/s}]",
			`3:33: policy "api": on_owner_loss: a list here: want "replica", "empty", "full"`},
		{"key: [], limits: [{rate: 60/min, on_owner_loss: full}, {rate: 1/s, burst: 60, on_unreachable: deny}]",
			`3:64: policy "api": limit 2 is the same as limit 1 (60/min, burst 60): leave one out`},

		{"key: [], sample: , limits: [{rate: 1/s}]", `3:26: policy "api": sample: nothing here: ` + wantPercentage},
		{"key: [], sample: {}, limits: [{rate: 1/s}]", `3:26: policy "api": sample: a mapping here: ` + wantPercentage},
		{"key: [], sample: 10, limits: [{rate: 1/s}]", `3:26: policy "api": sample "10": ` + wantPercentage},
		{"key: [], sample: 0.1, limits: [{rate: 1/s}]", `3:26: policy "api": sample "0.1": ` + wantPercentage},
		{"key: [], sample: -5%, limits: [{rate: 1/s}]", `3:26: policy "api": sample "-5%": ` + wantPercentage},
		{"key: [], sample: 010%, limits: [{rate: 1/s}]", `3:26: policy "api": sample "010%": ` + wantPercentage},
		{"key: [], sample: 1.%, limits: [{rate: 1/s}]", `3:26: policy "api": sample "1.%": ` + wantPercentage},
		{`key: [], sample: "10%\n", limits: [{rate: 1/s}]`, `3:26: policy "api": sample "10%\n": ` + wantPercentage},
		{"key: [], sample: 0.1000000%, limits: [{rate: 1/s}]", `3:26: policy "api": sample "0.1000000%": ` + wantPercentage},
		{"key: [], limits: [{rate: 1/s, sample: ten}]", `3:47: policy "api": limit 1: sample "ten": ` + wantPercentage},
		{"key: [], sample: 0%, limits: [{rate: 1/s}]", `3:26: policy "api": sample "0%": want at least 0.1%`},
		{"key: [], sample: 0.0999%, limits: [{rate: 1/s}]", `3:26: policy "api": sample "0.0999%": want at least 0.1%`},
		{"key: [], sample: 0.000001%, limits: [{rate: 1/s}]", `3:26: policy "api": sample "0.000001%": want at least 0.1%`},
		{"key: [], sample: 100.5%, limits: [{rate: 1/s}]",
			`3:26: policy "api": sample "100.5%": want at most 100%, which is every check`},
		{"key: [], sample: 999999.999999%, limits: [{rate: 1/s}]",
			`3:26: policy "api": sample "999999.999999%": want at most 100%, which is every check`},
		{"key: [], sample: 30%, limits: [{rate: 1/s}]", `3:26: policy "api": sample "30%": ` +
			`want one check in a whole number, such as 33% (one in 3) or 25% (one in 4)`},
		{"key: [], sample: 98%, limits: [{rate: 1/s}]", `3:26: policy "api": sample "98%": ` +
			`want one check in a whole number, such as 100% (one in 1) or 50% (one in 2)`},
		{"key: [], sample: 14%, limits: [{rate: 1/s}]", `3:26: policy "api": sample "14%": ` +
			`want one check in a whole number, such as 14.3% (one in 7) or 12.5% (one in 8)`},
		{"key: [], limits: [{rate: 1/s, sample: 30%}]", `3:47: policy "api": limit 1: sample "30%": ` +
			`want one check in a whole number, such as 33% (one in 3) or 25% (one in 4)`},

		{"key: [], limits: [{rate: 10/s, sample: 10%}, {rate: 20/s, sample: 50%}]",
			`3:75: policy "api": sample is 10% for limit 1 but 50% for limit 2: ` +
				`one check decides all limits of a policy, so write it once, for the policy`},
		{"key: [], limits: [{rate: 10/s, sample: 10%}, {rate: 20/s}]",
			`3:48: policy "api": sample is 10% for limit 1 but 100% for limit 2: ` +
				`one check decides all limits of a policy, so write it once, for the policy`},
		{"key: [], limits: [{rate: 10/s}, {rate: 20/s}, {rate: 30/s, sample: 10%}]",
			`3:76: policy "api": sample is 100% for limit 1 but 10% for limit 3: ` +
				`one check decides all limits of a policy, so write it once, for the policy`},
		{"key: [], sample: 20%, limits: [{rate: 10/s, sample: 10%}, {rate: 20/s}]",
			`3:61: policy "api": sample is 10% for limit 1 but 20% for limit 2: ` +
				`one check decides all limits of a policy, so write it once, for the policy`},
		{"key: [], sample: 20%, limits: [{rate: 10/s}, {rate: 20/s, sample: 100%}]",
			`3:75: policy "api": sample is 20% for limit 1 but 100% for limit 2: ` +
				`one check decides all limits of a policy, so write it once, for the policy`},

		{"key: [], sample: 10%, consistency: direct, limits: [{rate: 10/s}]",
			`3:26: policy "api": sample: one check in 10, but limit 1 is direct, so that each is decided: ` +
				`leave one of the two out`},
		{"key: [], limits: [{rate: 10/s, sample: 10%}, {rate: 20/s, sample: 10%, consistency: direct}]",
			`3:48: policy "api": sample: one check in 10, but limit 2 is direct, so that each is decided: ` +
				`leave one of the two out`},
		{"key: [], sample: 10%, limits: [{rate: 10/s}, {rate: 20/s, burst: 7}, {rate: 9/s}]",
			`3:26: policy "api": sample: the one check in 10 that is decided takes up to 10 tokens, ` +
				`more than the burst 7 of limit 2: lower it to one in 7 (14.3%), or raise the burst`},
		{"key: [], limits: [{rate: 10/s, burst: 0, sample: 50%}]",
			`3:58: policy "api": sample: the one check in 2 that is decided takes up to 2 tokens, ` +
				`more than the burst 0 of limit 1: lower it to one in 1 (100%), or raise the burst`},
	} {
		p, err := parsed(c.fields)
		if p != nil || !errors.Is(err, policy.ErrInvalidPolicy) {
			t.Errorf("%s: got %v, %v, want an error that wraps ErrInvalidPolicy", c.fields, p, err)
			continue
		}
		if diff := cmp.Diff("f:"+c.want, err.Error()); diff != "" {
			t.Errorf("%s:\n%s", c.fields, diff)
		}
	}
}

// TestParseBehavioursSaysAllAtOnce: what is wrong is said of each field, and not again because of a field that could
// not be read.
func TestParseBehavioursSaysAllAtOnce(t *testing.T) {
	const text = `version: 1
policies:
  a:
    key: []
    sample: 30%
    consistency: stict
  b:
    key: []
    consistency: direct
    sample: 10%
    limits:
      - {rate: x}
      - {rate: 5/s, consistency: drect, sample: 0%}
      - 7
      - {rate: 5/s, consistency: leased}
`
	const want = `f:4:5: policy "a": field "limits" is missing: want a list of limits, such as [{rate: 10/min}]
f:5:13: policy "a": sample "30%": want one check in a whole number, such as 33% (one in 3) or 25% (one in 4)
f:6:18: policy "a": unknown consistency "stict": did you mean "strict"?
f:10:13: policy "b": sample: one check in 10, but limit 1 is direct, so that each is decided: leave one of the two out
f:10:13: policy "b": sample: the one check in 10 that is decided takes up to 10 tokens, ` +
		`more than the burst 5 of limit 4: lower it to one in 5 (20%), or raise the burst
f:12:17: policy "b": limit 1: rate "x", byte 2: want COUNT/PERIOD, such as "10/min"
f:13:34: policy "b": limit 2: unknown consistency "drect": did you mean "direct"?
f:13:49: policy "b": limit 2: sample "0%": want at least 0.1%
f:14:9: policy "b": limit 3: a single value here: ` +
		`want fields: name, unit, rate, burst, quota, zone, overage, algorithm, max_wait, max_queue, when, shadow, consistency, sample, on_unreachable, on_owner_loss, durable`
	_, err := policy.Parse("f", []byte(text))
	if err == nil {
		t.Fatal("want an error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestBehavioursInGo(t *testing.T) {
	p := policyOf(t, policy.Policy{Name: "api", Sample: 10, Limits: []policy.Limit{
		{Limit: bucket.Limit{Count: 1, Per: time.Second, Burst: 10}},
	}})
	if p.Sample != 10 || !p.Leased() {
		t.Errorf("got sample %d, leased %v", p.Sample, p.Leased())
	}
	direct := perSecond("api", 1)
	direct.Sample, direct.Limits[0].Consistency = 1, policy.Direct
	if p := policyOf(t, direct); p.Limits[0].Consistency != policy.Direct || p.Leased() {
		t.Errorf("got %v, leased %v", p.Limits[0].Consistency, p.Leased())
	}

	few := perSecond("few", 5)
	few.Sample = policy.MaxSample + 1
	less := perSecond("less", 5)
	less.Sample, less.Limits[0].OwnerLoss = -1, 3
	odd := perSecond("odd", 5)
	odd.Sample, odd.Limits[0].Consistency, odd.Limits[0].OnUnreachable = 6, 9, 3
	both := perSecond("both", 1)
	both.Sample, both.Limits[0].Consistency = 2, policy.Direct
	_, err := policy.NewSet(few, less, odd, both)
	want := strings.Join([]string{
		`invalid policy: policy "few": sample: one check in 1001, want one in 1 to 1000`,
		`invalid policy: policy "less": limit 1: invalid limit: rule 3 for the loss of an owner, want 0 to 2`,
		`invalid policy: policy "less": sample: one check in -1, want one in 1 to 1000`,
		`invalid policy: policy "odd": limit 1: consistency 9, want Leased, Direct or Strict`,
		`invalid policy: policy "odd": limit 1: on_unreachable 3, ` +
			`want UnreachableLocal, UnreachableDeny or UnreachableAllow`,
		`invalid policy: policy "odd": sample: the one check in 6 that is decided takes up to 6 tokens, ` +
			`more than the burst 5 of limit 1: lower it to one in 5 (20%), or raise the burst`,
		`invalid policy: policy "both": sample: one check in 2, but limit 1 is direct, so that each is decided: ` +
			`leave one of the two out`,
		`invalid policy: policy "both": sample: the one check in 2 that is decided takes up to 2 tokens, ` +
			`more than the burst 1 of limit 1: lower it to one in 1 (100%), or raise the burst`,
	}, "\n")
	if !errors.Is(err, policy.ErrInvalidPolicy) || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestSampleAdviceHolds: the share that a message advises is read as the number that it names.
func TestSampleAdviceHolds(t *testing.T) {
	for n := 1; n < policy.MaxSample; n++ {
		p := perSecond("api", int64(n))
		p.Sample = policy.MaxSample
		err := p.Validate()
		if err == nil {
			t.Fatalf("a sample of one in %d passes at a burst of %d", p.Sample, n)
		}
		_, rest, _ := strings.Cut(err.Error(), fmt.Sprintf("lower it to one in %d (", n))
		share, _, found := strings.Cut(rest, ")")
		if !found {
			t.Fatalf("no advice: %v", err)
		}
		got, err := parsed(fmt.Sprintf("key: [], sample: %s, limits: [{rate: %d/s}]", share, n))
		if err != nil || got.Sample != n {
			t.Errorf("%s is advised for one in %d, and read as %+v, %v", share, n, got, err)
		}
	}
}
