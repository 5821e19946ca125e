package source

import "context"

// Found is a text of policies as its source has it.
type Found struct {
	// Name is for messages: the name of a file, "etcd key /drossel/policies", "consul key drossel/policies".
	Name string
	// Text is at most policy.MaxTextBytes long. It is shared: nobody changes it.
	Text []byte
	// Revision rises with each change at the source: the modification time of a file in Unix milliseconds, the ModRevision
	// of a key in etcd, its ModifyIndex in Consul. It falls if somebody sets a file's time back, or restores the store of
	// keys from a copy: it tells people which text they see, and decides nothing.
	Revision uint64
}

// Source is where a text of policies comes from.
type Source interface {
	// Watch reports what is there, and then each change, until ctx ends; then it returns nil. It returns no other error.
	//
	// found is called with each new text, and never with the same text twice in a row. failed is called with what is in
	// the way, an error that wraps one of this package's and says what to do: once when it begins, and not again while
	// it is tried again. The text that was found before is still the last word then. When the trouble is over the text is found if it
	// has changed, and else failed is called with nil.
	//
	// Both are called one at a time, by the goroutine that called Watch, which waits for them. Whatever else Watch starts
	// has ended when it returns. It may be called again, and by several at a time.
	Watch(ctx context.Context, found func(Found), failed func(error)) error
}
