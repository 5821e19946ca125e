// Package mutate shows that tests can fail: it breaks a rule of the source, and wants the test that is there for the rule
// to notice.
//
// Only tests import it. It does not find rules to break: each package lists its own.
package mutate
