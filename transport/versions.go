package transport

// The frame versions that this build speaks. Two nodes use the highest that both do. Versions 1 to 7 did not say of which policies
// limits are, or knew of no holds, and their nodes are refused.
const (
	MinVersion = 8
	MaxVersion = 10
)

// EntriesVersion is the first version that knows of the limits store.
const EntriesVersion = 9

// RefundsVersion is the first version that knows of refunds.
const RefundsVersion = 10

// Version returns the frame version that two nodes use who have accepted each other: the highest that both speak.
func Version(own, other Hello) uint8 { return min(own.MaxVersion, other.MaxVersion) }

// WithVersions returns the same hello with the frame versions of this build in place of those that are zero.
func (h Hello) WithVersions() Hello {
	if h.MinVersion == 0 {
		h.MinVersion = MinVersion
	}
	if h.MaxVersion == 0 {
		h.MaxVersion = MaxVersion
	}
	return h
}
