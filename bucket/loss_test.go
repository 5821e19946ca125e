package bucket_test

import (
	"testing"

	"github.com/drossel-dev/drossel/bucket"
)

func TestOwnerLossIsPartOfALimit(t *testing.T) {
	l := bucket.Limit{Count: 10, Per: 1000, Burst: 5, OwnerLoss: bucket.LossEmpty}
	if got := l.Reduced(); got.OwnerLoss != bucket.LossEmpty {
		t.Errorf("reduced to %+v: the rule is lost", got)
	}
	if got := (bucket.Limit{Burst: 5, OwnerLoss: bucket.LossFull}).Reduced(); got.OwnerLoss != bucket.LossFull {
		t.Errorf("reduced without a rate to %+v: the rule is lost", got)
	}
	l.OwnerLoss = bucket.LossFull + 1
	if err := l.Validate(); err == nil {
		t.Error("an unknown rule is valid")
	}
	for rule, want := range map[bucket.OwnerLoss]string{
		bucket.LossReplica: "replica", bucket.LossEmpty: "empty", bucket.LossFull: "full", bucket.LossFull + 1: "unknown",
	} {
		if got := rule.String(); got != want {
			t.Errorf("rule %d is %q, want %q", rule, got, want)
		}
	}
}
