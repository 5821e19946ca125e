// Package consul watches a text of policies in a key of Consul's store, over its HTTP API.
//
// It asks with blocking queries: Consul answers when the key changes, or after a minute. The rules for these are Consul's
// own (developer.hashicorp.com/consul/api-docs/features/blocking): an index that falls, or is none, begins anew; answers
// are not asked for in a busy loop; who waits is patient for longer than Consul may take. Reads are of the default
// consistency, answered by the leader, so that a new text is never followed by an old one.
//
// What it does not do: it does not run or find Consul, and does not write to it. Address is one agent or server, as a rule
// the agent on the same machine.
package consul
