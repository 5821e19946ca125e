// Package starter holds files of policies to begin with, in which every line is explained, each with tests that pass: for a public
// API, for a gateway to language models, for a service whose customers are companies.
//
// What it does not do: ask anything, or fill anything in. The numbers are examples, and who begins with them changes them.
package starter
