package ring

import (
	"errors"
	"fmt"
)

// The parameters that a zero field of Params stands for.
const (
	DefaultPartitions  = 1021
	DefaultReplication = 100
	DefaultLoad        = 1.25
)

// MaxPartitions bounds Params.Partitions, and with it the members of one ring.
const MaxPartitions = 65535

const (
	maxReplication   = 1000
	minLoad, maxLoad = 1.0, 10.0
)

// Params are the constants of a cluster's placement. Every node must use the same ones for the cluster's whole life:
// another value moves keys. The zero value is the default.
type Params struct {
	// Partitions is the number of partitions, 1 to MaxPartitions; 0 means DefaultPartitions. It bounds the members, and
	// balance suffers below 10 partitions a member. A prime keeps it clear of patterns in keys.
	Partitions int
	// Replication is the number of points each member has on the circle, 1 to 1000; 0 means DefaultReplication. More
	// points balance better, and make a change of members dearer.
	Replication int
	// Load bounds what one member owns, as a multiple of the average, rounded up to a whole partition: 1 to 10; 0 means
	// DefaultLoad. Towards 1 the balance is better, and more partitions move that did not have to.
	Load float64
}

// ErrParams is wrapped by every error that says the parameters are out of range.
var ErrParams = errors.New("invalid ring parameters")

// Validate returns nil, or an ErrParams that names every field out of range.
func (p Params) Validate() error {
	p = p.withDefaults()
	var wrong []error
	if p.Partitions < 1 || p.Partitions > MaxPartitions {
		wrong = append(wrong, fmt.Errorf("ring.Params.Partitions is %d, want 1 to %d", p.Partitions, MaxPartitions))
	}
	if p.Replication < 1 || p.Replication > maxReplication {
		wrong = append(wrong, fmt.Errorf("ring.Params.Replication is %d, want 1 to %d", p.Replication, maxReplication))
	}
	if !(p.Load >= minLoad && p.Load <= maxLoad) { // written so that NaN is refused
		wrong = append(wrong, fmt.Errorf("ring.Params.Load is %v, want %v to %v", p.Load, minLoad, maxLoad))
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrParams, errors.Join(wrong...))
}

// String returns everything that placement depends on besides the members, defaults filled in. Nodes whose texts differ
// place partitions differently and must refuse each other.
func (p Params) String() string {
	p = p.withDefaults()
	return fmt.Sprintf("partitions=%d replication=%d load=%v hash=xxhash64 layout=consistent-v1.0.0",
		p.Partitions, p.Replication, p.Load)
}

func (p Params) withDefaults() Params {
	if p.Partitions == 0 {
		p.Partitions = DefaultPartitions
	}
	if p.Replication == 0 {
		p.Replication = DefaultReplication
	}
	if p.Load == 0 {
		p.Load = DefaultLoad
	}
	return p
}
