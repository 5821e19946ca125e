package policy_test

import (
	"fmt"

	"github.com/drossel-dev/drossel/bucket/policy"
)

func ExampleParse() {
	s, err := policy.Parse("limits.yaml", []byte(`
version: 1
policies:
  api:
    key: [user]
    limits: [{rate: 20/s, burst: 40}, {rate: 10_000/h}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := s.Policy("api")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range api.Limits {
		fmt.Printf("%s: %s, burst %d\n", l.Name, policy.FormatRate(l.Limit), l.Burst)
	}
	_, err = s.Policy("apj")
	fmt.Println(err)
	// Output:
	// api: 20/s, burst 40
	// api-2: 10k/h, burst 10000
	// unknown policy "apj": did you mean "api"?
}

func ExampleParse_mistakes() {
	_, err := policy.Parse("limits.yaml", []byte(`version: 1
policies:
  api: {key: user, limits: [{rate: 10/0s}]}
`))
	fmt.Println(err)
	// Output:
	// limits.yaml:3:14: policy "api": key: want a list: write [user]
	// limits.yaml:3:39: policy "api": limit 1: rate "10/0s", byte 4: want a period above zero
}
