// Package lease lends the tokens of hot groups to the nodes that ask for them, so that they decide by themselves.
//
// Both ends are step machines: time and messages go in, messages come out. The owner of a group has a [Lender], over a
// [Ledger] that counts every token it has out against the capacity of the bucket; so whatever is lost, repeated, late
// or crashes, no more is admitted than one bucket would. A holder has a [Borrower] for each group, over a [Purse] that
// holds the tokens lent and what was spent of them. DESIGN.md says what must hold and why.
//
// A group moves to another owner with its ledger: AppendLedger writes it, LenderFrom reads it.
//
// Checks over several keys are prepared for: ledgers and purses can hold tokens for a check that is not decided yet,
// and a ledger can correct what was spent. Nodes make no use of that so far.
//
// What it does not do: send, wait, look at a clock, lock, or keep the buckets themselves. The zero Ledger, Purse and
// Borrower are ready for use, and a Lender is made by NewLender; none is safe for concurrent use.
package lease
