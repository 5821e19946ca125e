package envoy

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// overrides is the space of the keys of descriptors that bring a limit. A policy can't have a name with a space in it, so it is none's.
const overrides = "envoy override"

const day = 24 * time.Hour

// units are the periods of the limits of descriptors. A month and a year are those of Envoy's reference service: spans, and not of the calendar.
var units = map[typev3.RateLimitUnit]time.Duration{
	typev3.RateLimitUnit_SECOND: time.Second,
	typev3.RateLimitUnit_MINUTE: time.Minute,
	typev3.RateLimitUnit_HOUR:   time.Hour,
	typev3.RateLimitUnit_DAY:    day,
	typev3.RateLimitUnit_MONTH:  30 * day,
	typev3.RateLimitUnit_YEAR:   365 * day,
}

// override has a request ask for the limit that its descriptor brings. The limit is a part of the key, for another limit of the same
// descriptor is another one, and must not change what is left of this. Values may be secrets, and of such a key it can't be said which
// are, so it has a hash of them all.
func override(req *policy.Request, domain string, d *common.RateLimitDescriptor) error {
	limit, err := limitOf(d.GetLimit())
	if err != nil {
		return fmt.Errorf("limit: %w", err)
	}
	var text []byte
	for _, e := range d.GetEntries() {
		text = appendText(appendText(text, e.GetKey()), e.GetValue())
	}
	entries := sha256.Sum256(text)
	req.Policy, req.Limit, req.Parts = overrides, &limit, []string{domain, policy.FormatRate(limit), fmt.Sprintf("%x", entries[:16])}
	return nil
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// limitOf reads the limit of a descriptor: a window of fixed length, as in Envoy's reference service.
func limitOf(o *common.RateLimitDescriptor_RateLimitOverride) (l bucket.Limit, err error) {
	unit, ok := units[o.GetUnit()]
	if !ok {
		return l, fmt.Errorf("unit %v: want SECOND, MINUTE, HOUR, DAY, MONTH or YEAR", o.GetUnit())
	}
	times := time.Duration(1)
	if m := o.GetUnitMultiplier(); m != nil {
		times = time.Duration(m.GetValue())
	}
	if times == 0 || times > math.MaxInt64/unit {
		return l, fmt.Errorf("unit_multiplier %d: want 1 or more, and a window of at most 292 years", times)
	}
	n := int64(o.GetRequestsPerUnit())
	return bucket.Limit{Algorithm: bucket.FixedWindow, Count: n, Burst: n, Per: times * unit}, nil
}
