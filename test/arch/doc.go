// Package arch holds the house rules as tests: who may import whom, where a clock may be read, what must be documented,
// and what lies at the top of the repository.
//
// The rules are checked on the files that git tracks, and each rule is shown to find what breaks it. A new package is
// refused until somebody has decided what it may import and written that down in imports_test.go.
//
// It does not look at behaviour, and nothing imports it.
package arch
