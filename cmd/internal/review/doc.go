// Package review says what is in a set of policies, and what of it is legal and still surely a mistake: a limit that never applies,
// or applies to more than anybody means.
//
// What it does not do: find what is wrong (policy.Parse does), or have a taste. What might be meant is not doubted.
package review
