// Package bench measures Drossel beside the systems that one would use instead: golang.org/x/time/rate for a check
// decided in the same process, and a Lua token bucket in Redis for a check decided in another. README.md has the
// commands, and what each figure means.
//
// Whatever is compared runs in turns of a fraction of a second within one run, so that the noise of the machine meets
// both sides alike. The package is a module of its own, so that nobody who uses Drossel depends on its competitors. It
// needs a Unix: CPU time is read with getrusage.
//
// What it does not do: prove that answers are right (that is tested beside the code), or pass judgement; it only fails
// if a system did not do the work that it is timed for.
package bench
