package replay

import (
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// keyOf returns the key of a request as people read it: the way everything else writes it, so that what the replay
// names can be found again. ok is false if the request lacks an attribute of the key. Different keys have different
// texts.
func keyOf(req *policy.Request, names []string) (key string, ok bool) {
	for _, part := range names {
		there := false
		for name := range strings.SplitSeq(part, "|") {
			there = there || req.Attributes[name] != ""
		}
		if !there {
			return "", false
		}
	}
	keyed := policy.Policy{Key: names}
	return keyed.KeyText(req), true
}
