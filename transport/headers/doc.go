// Package headers says in HTTP how a request stands with its limits: header fields in the styles that clients know, when a retry can succeed,
// and the body of a denial. All doors that speak HTTP, or tell somebody who does, use it.
//
// One field name means different things to different clients, a span to one and a date to another, so the style is a choice, and several may
// be chosen that do not contradict each other. What is said is what the decision says; a denial carries the numbers of the limit that denied.
//
// It does not decide anything, read requests, write responses, or know a clock.
package headers
