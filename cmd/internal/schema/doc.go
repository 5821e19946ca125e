// Package schema holds a JSON Schema, draft 2020-12, of the language of policies, by which editors complete, explain and check a file
// as it is written.
//
// It refuses nothing that policy.Parse reads. What it does not do: find all that is wrong. What one part of a file says of another,
// such as the name of a policy in the with of another, it does not see.
package schema
