package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// MaxSample bounds Policy.Sample.
const MaxSample = 1000

var percentage = regexp.MustCompile(`^(0|[1-9][0-9]{0,5})(?:\.([0-9]{1,6}))?%$`)

// parseSample reads a share of the checks, such as "10%" or "2.5%", as one in n, n from 1 to MaxSample. If it cannot,
// want says what to write instead.
func parseSample(text string) (n int, want string) {
	m := percentage.FindStringSubmatch(text)
	if m == nil {
		return 0, "want a percentage of the checks, such as 10%"
	}
	share, _ := strconv.ParseInt(m[1]+m[2], 10, 64) // at most twelve digits
	all := int64(100)
	for range m[2] {
		all *= 10
	}
	if share > all {
		return 0, "want at most 100%, which is every check"
	}
	if share == 0 || nearestSample(share, all) > MaxSample {
		return 0, "want at least " + formatSample(MaxSample)
	}
	if n := nearestSample(share, all); isSample(n, share, all) {
		return int(n), ""
	}
	below := int(all / share)
	return 0, fmt.Sprintf("want one check in a whole number, such as %s (one in %d) or %s (one in %d)",
		formatSample(below), below, formatSample(below+1), below+1)
}

// formatSample returns the shortest percentage that parseSample reads as one in n, n from 1 to MaxSample.
func formatSample(n int) string {
	for decimals, scale := 0, int64(1); ; decimals, scale = decimals+1, scale*10 {
		all := 100 * scale
		share := nearestSample(int64(n), all)
		if share > 0 && nearestSample(share, all) == int64(n) && isSample(int64(n), share, all) {
			return strconv.FormatFloat(float64(share)/float64(scale), 'f', decimals, 64) + "%"
		}
	}
}

// nearestSample returns all/share, rounded.
func nearestSample(share, all int64) int64 { return (2*all + share) / (2 * share) }

// isSample says whether n such shares are all of it, within 1%: 33% and 33.3% are both meant as a third.
func isSample(n, share, all int64) bool {
	off := all - n*share
	return max(off, -off)*100 <= all
}

// wrongSample says what is wrong with the sample of the policy, or nothing.
func (p *Policy) wrongSample() []string {
	if p.Sample < 0 || p.Sample > MaxSample {
		return []string{fmt.Sprintf("sample: one check in %d, want one in 1 to %d", p.Sample, MaxSample)}
	}
	if p.Sample <= 1 {
		return nil
	}
	var wrong []string
	direct, unlent, least := -1, -1, -1
	for i, l := range p.Limits {
		if direct < 0 && (l.Consistency == Direct || l.Consistency == Strict) {
			direct = i
		}
		if unlent < 0 && !l.Algorithm.Lends() {
			unlent = i
		}
		// A limit that is not valid is complained of, and its burst may be none that somebody wrote.
		if l.Validate() == nil && (least < 0 || l.Burst < p.Limits[least].Burst) {
			least = i
		}
	}
	if direct >= 0 {
		wrong = append(wrong, fmt.Sprintf("sample: one check in %d, but limit %d is %v, so that each is decided: "+
			"leave one of the two out", p.Sample, direct+1, p.Limits[direct].Consistency))
	}
	if !p.alike() {
		wrong = append(wrong, fmt.Sprintf("sample: one check in %d, but requests cost several units, are weighed, or "+
			"limits have conditions or are in shadow mode: leave the sample out", p.Sample))
	}
	if unlent >= 0 {
		wrong = append(wrong, fmt.Sprintf("sample: one check in %d, but limit %d is a %v, which needs each to be decided: "+
			"leave the sample out", p.Sample, unlent+1, p.Limits[unlent].Algorithm))
	}
	if least >= 0 && int64(p.Sample) > p.Limits[least].Burst {
		fits := max(1, int(p.Limits[least].Burst))
		wrong = append(wrong, fmt.Sprintf("sample: the one check in %d that is decided takes up to %d tokens, more than "+
			"the burst %d of limit %d: lower it to one in %d (%s), or raise the burst",
			p.Sample, p.Sample, p.Limits[least].Burst, least+1, fits, formatSample(fits)))
	}
	return wrong
}

// alike says whether each limit counts the same of all requests, and denies.
func (p *Policy) alike() bool {
	return p.Weights.By == "" && !slices.ContainsFunc(p.Limits, func(l Limit) bool {
		return unitOf(l.Unit) != unitOf(p.Limits[0].Unit) || l.Shadow || len(l.When) > 0
	})
}
