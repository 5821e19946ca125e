package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/transport/web"
)

// livePolicies are those of a node, as its JSON API shows them.
type livePolicies struct{ node *node.Node }

// shownPolicies are policies with their text.
type shownPolicies struct {
	node.PolicyStatus
	Node string `json:"node"`
	// Of says which edition it is, nil if it is none.
	Of   *node.Edition `json:"of,omitempty"`
	Text string        `json:"text"`
}

func (l livePolicies) Show(number uint64) (any, error) {
	out := shownPolicies{PolicyStatus: l.node.PolicyStatus(), Node: l.node.Name(), Text: l.node.Policies().Text()}
	if number == 0 && out.Edition == 0 {
		return out, nil
	}
	e, err := l.node.Edition(number)
	if err != nil {
		return nil, found(err)
	}
	out.Text, e.Text, out.Of = e.Text, "", &e
	return out, nil
}

func (l livePolicies) History() any {
	return struct {
		Node     string         `json:"node"`
		Editions []node.Edition `json:"editions"`
	}{l.node.Name(), l.node.Editions()}
}

func (l livePolicies) Apply(ctx context.Context, name, text string) (any, error) {
	return l.node.Apply(ctx, name, text)
}

func (l livePolicies) Rollback(ctx context.Context, number uint64) (any, error) {
	a, err := l.node.Rollback(ctx, number)
	return a, found(err)
}

func (l livePolicies) Withdraw(ctx context.Context) (any, error) { return l.node.Withdraw(ctx) }

func (l livePolicies) Explain(ctx context.Context, req *policy.Request) (any, error) {
	return l.node.Explain(ctx, req)
}

// found says of an error about a missing edition that it is one about something missing.
func found(err error) error {
	if errors.Is(err, node.ErrNoEdition) {
		return fmt.Errorf("%w: %w", web.ErrNotFound, err)
	}
	return err
}
