package ring_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/ring"
)

func TestParamsText(t *testing.T) {
	for _, test := range []struct {
		params ring.Params
		want   string
	}{
		{ring.Params{}, "partitions=1021 replication=100 load=1.25 hash=xxhash64 layout=consistent-v1.0.0"},
		{ring.Params{Partitions: 1021, Replication: 100, Load: 1.25},
			"partitions=1021 replication=100 load=1.25 hash=xxhash64 layout=consistent-v1.0.0"},
		{ring.Params{Partitions: 4093, Load: 2},
			"partitions=4093 replication=100 load=2 hash=xxhash64 layout=consistent-v1.0.0"},
	} {
		if got := test.params.String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestParamsRanges(t *testing.T) {
	for _, test := range []struct {
		params ring.Params
		wrong  []string
	}{
		{ring.Params{}, nil},
		{ring.Params{Partitions: 1, Replication: 1, Load: 1}, nil},
		{ring.Params{Partitions: ring.MaxPartitions, Replication: 1000, Load: 10}, nil},
		{ring.Params{Partitions: -1}, []string{"Partitions is -1"}},
		{ring.Params{Partitions: ring.MaxPartitions + 1}, []string{"Partitions is 65536"}},
		{ring.Params{Load: math.NaN()}, []string{"Load is NaN"}},
		{ring.Params{Load: math.Inf(1)}, []string{"Load is +Inf"}},
		{ring.Params{Partitions: -1, Replication: 1001, Load: 0.99},
			[]string{"Partitions is -1", "Replication is 1001", "Load is 0.99"}},
	} {
		err := test.params.Validate()
		if (err != nil) != (test.wrong != nil) || err != nil && !errors.Is(err, ring.ErrParams) {
			t.Errorf("%+v: got %v, want an error about %q", test.params, err, test.wrong)
			continue
		}
		for _, field := range test.wrong {
			if !strings.Contains(err.Error(), field) {
				t.Errorf("%+v: %v does not say %q", test.params, err, field)
			}
		}
		if _, built := ring.NewBuilder(test.params); (built == nil) != (err == nil) {
			t.Errorf("%+v: NewBuilder says %v, Validate %v", test.params, built, err)
		}
	}
}
