package bucket

// OwnerLoss says what a bucket holds when the node that kept it was lost and another takes over.
type OwnerLoss uint8

const (
	// LossReplica goes on from the newest copy. What was taken after that was made may be admitted once more; without any
	// copy, and for keys that no copy knows, the bucket starts full.
	LossReplica OwnerLoss = iota
	// LossEmpty starts with nothing, and counts on leases of which no copy knew: nothing is admitted twice, and at most a
	// burst is lost.
	LossEmpty
	// LossFull starts full: nothing is lost, and at most a burst is admitted twice.
	LossFull
)

var losses = []string{"replica", "empty", "full"}

// String returns the word used in YAML, and "unknown" for a value that is none of the constants.
func (l OwnerLoss) String() string {
	if int(l) < len(losses) {
		return losses[l]
	}
	return "unknown"
}
