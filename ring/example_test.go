package ring_test

import (
	"fmt"

	"github.com/drossel-dev/drossel/ring"
)

// Every node makes the same ring of the same members, so they agree on owners without a word.
func ExampleBuilder_Place() {
	builder, err := ring.NewBuilder(ring.Params{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := builder.Place([]ring.Member{
		{ID: "n1", Boot: 1, State: ring.Active},
		{ID: "n2", Boot: 1, State: ring.Active},
		{ID: "n3", Boot: 1, State: ring.Active},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	id := [16]byte{1, 2, 3}
	p := r.Partition(id)
	fmt.Println("partition", p, "of", r.Partitions(), "is owned by", r.Members()[r.Owner(p)].ID)
	fmt.Println("partitions by member:", r.Counts())
	// Output:
	// partition 667 of 1021 is owned by n2
	// partitions by member: [300 357 364]
}
