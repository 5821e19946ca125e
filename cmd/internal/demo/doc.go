// Package demo runs three real nodes in one process over the real transport on loopback, puts load on them, much of it
// on one key that is lent, kills that key's owner half-way, and holds what was admitted against what was promised.
//
// What it does not do: print (cmd/drossel does).
package demo
