package ownership

import (
	"encoding/binary"
	"slices"
)

// Put carries groups of a partition from one node to another: to keep as a copy, as part of a Snapshot, or to be staged for
// the next owner. A copy that is large travels as several, in order.
type Put struct {
	Snapshot
	// Stage says that the groups are to be staged, for this incarnation alone; Seq, Base and Beat are of no account then.
	Stage bool
	For   Member
	// First begins anew; Last ends what belongs together.
	First, Last bool
	// Settled says what was settled in the partition; it comes with the last.
	Settled []Settlement
	// Blob is the groups, as bucket/table has written them.
	Blob []byte
}

// Settlement says up to which number the settlements of a debtor have been applied.
type Settlement struct {
	Debtor string
	Seq    uint64
}

// PutResult is what became of a Put.
type PutResult byte

const (
	PutFailed  PutResult = iota // it did not arrive, as far as the sender knows
	PutTaken                    // it is there
	PutRefused                  // it builds on what is not there, is not the newest, or is for another incarnation
)

const (
	// MaxPutBlob bounds the groups of one Put.
	MaxPutBlob = 256 << 10
	// maxSettlements bounds those of one Put.
	maxSettlements = 1024
	maxDebtorBytes = 255
	// maxBlob leaves room for the last group, which may end behind MaxPutBlob.
	maxBlob = MaxPutBlob + 64<<10
)

// The flags of a put.
const (
	putStage byte = 1 << iota
	putFirst
	putLast
	putUnknown
)

// AppendPuts appends as many puts to b as fit into a body of max bytes, at least one, and says how many.
func AppendPuts(b []byte, puts []Put, max int) (body []byte, taken int) {
	for i := range puts {
		was := len(b)
		if b = appendPut(b, &puts[i]); i > 0 && len(b) > max {
			return b[:was], i
		}
	}
	return b, len(puts)
}

func appendPut(b []byte, p *Put) []byte {
	var flags byte
	for _, f := range []struct {
		flag byte
		is   bool
	}{{putStage, p.Stage}, {putFirst, p.First}, {putLast, p.Last}} {
		if f.is {
			flags |= f.flag
		}
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(p.Partition))
	b = appendMember(b, p.Claim.Member())
	b = binary.AppendUvarint(b, p.Claim.Term)
	if p.Stage {
		b = appendMember(b, p.For)
	} else {
		b = binary.AppendUvarint(binary.AppendUvarint(b, p.Seq), p.Base)
		b = binary.AppendUvarint(b, p.Beat)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Settled)))
	for _, s := range p.Settled {
		b = binary.AppendUvarint(appendID(b, s.Debtor), s.Seq)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Blob)))
	return append(b, p.Blob...)
}

// DecodePuts reads what AppendPuts has written. Blobs alias it. The error wraps ErrMessage.
func DecodePuts(body []byte) (puts []Put, err error) {
	r := reader{b: body}
	for r.left() > 0 && r.err == nil {
		puts = append(puts, r.put())
	}
	return puts, r.end()
}

func (r *reader) put() (p Put) {
	flags := r.byte()
	if flags >= putUnknown {
		r.fail("a put has unknown flags")
	}
	p.Stage, p.First, p.Last = flags&putStage != 0, flags&putFirst != 0, flags&putLast != 0
	p.Partition = r.partitionNumber()
	owner := r.member()
	p.Claim = Claim{Epoch{r.uvarint(), owner.Incarnation}, owner.ID}
	if p.Stage {
		p.For = r.member()
	} else {
		p.Seq, p.Base, p.Beat = r.uvarint(), r.uvarint(), r.uvarint()
	}
	for range r.count(maxSettlements, 2) {
		p.Settled = append(p.Settled, Settlement{r.text(maxDebtorBytes), r.uvarint()})
	}
	p.Blob = r.bytes(maxBlob)
	return p
}

func (r *reader) partitionNumber() int {
	v := r.uvarint()
	if v >= partitionBound {
		r.fail("partition %d, want less than %d", v, partitionBound)
		return 0
	}
	return int(v)
}

// text reads a field of at most limit bytes.
func (r *reader) text(limit int) string {
	return string(r.bytes(limit))
}

// bytes reads a field of at most limit bytes, which aliases the message.
func (r *reader) bytes(limit int) []byte {
	n := r.count(limit, 1)
	v := r.b[r.at : r.at+n : r.at+n]
	r.at += n
	return v
}

// AppendResults appends what became of puts.
func AppendResults(b []byte, results []PutResult) []byte {
	for _, r := range results {
		b = append(b, byte(r))
	}
	return b
}

// DecodeResults reads the results of n puts. The error wraps ErrMessage.
func DecodeResults(b []byte, n int) (results []PutResult, err error) {
	r := reader{b: b}
	for range n {
		v := PutResult(r.byte())
		if v > PutRefused {
			r.fail("result %d", v)
		}
		results = append(results, v)
	}
	return slices.Clip(results), r.end()
}

// AppendGet appends the request for a copy.
func AppendGet(b []byte, c Copy) []byte {
	b = binary.AppendUvarint(b, uint64(c.Partition))
	b = appendMember(b, c.Claim.Member())
	return binary.AppendUvarint(binary.AppendUvarint(b, c.Claim.Term), c.Seq)
}

// DecodeGet reads the request for a copy. The error wraps ErrMessage.
func DecodeGet(b []byte) (c Copy, err error) {
	r := reader{b: b}
	c.Partition = r.partitionNumber()
	owner := r.member()
	c.Claim = Claim{Epoch{r.uvarint(), owner.Incarnation}, owner.ID}
	c.Seq = r.uvarint()
	return c, r.end()
}
