package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Policies are those of a node, and of the cluster. What its methods return is shown as encoding/json has it. An error wraps
// ErrNotFound, or policy.ErrInvalidPolicy, if the caller is to blame. They are called from many goroutines at once.
type Policies interface {
	// Show returns which policies apply, and their text: those of an edition by its number, or what applies now for 0.
	Show(number uint64) (any, error)
	// History returns the editions that the node knows.
	History() any
	// Apply applies a text, named for messages, at all nodes.
	Apply(ctx context.Context, name, text string) (any, error)
	// Rollback applies the text of an edition again: of the one before the present one for 0.
	Rollback(ctx context.Context, number uint64) (any, error)
	// Withdraw has nodes go by their own policies again.
	Withdraw(ctx context.Context) (any, error)
	// Explain says which policies have to do with a request, and why.
	Explain(ctx context.Context, req *policy.Request) (any, error)
}

// policyOrder is the body of what changes policies.
type policyOrder struct {
	name, text *string
	number     *int64
}

var (
	applyFields = fields[policyOrder]{
		"name": func(w walk, at string, p *policyOrder) (err error) { p.name, err = w.text(at); return },
		"text": func(w walk, at string, p *policyOrder) (err error) { p.text, err = w.text(at); return },
	}
	rollbackFields = fields[policyOrder]{
		"number": func(w walk, at string, p *policyOrder) (err error) { p.number, err = w.integer(at, 64); return },
	}
	withdrawFields = fields[policyOrder]{}
)

// policies adds the routes.
func (s *server) policies(route func(method, path string, h http.HandlerFunc), p Policies) {
	route(http.MethodGet, "/v1/policies", func(w http.ResponseWriter, r *http.Request) {
		number := uint64(0)
		if text := r.URL.Query().Get("number"); text != "" {
			var err error
			if number, err = strconv.ParseUint(text, 10, 64); err != nil || number == 0 {
				s.fail(w, r, fmt.Errorf("%w: number is %.40q, want that of an edition", policy.ErrInvalid, text))
				return
			}
		}
		out, err := p.Show(number)
		s.reply(w, r, out, err)
	})
	route(http.MethodGet, "/v1/policies/history", s.view(p.History))
	route(http.MethodPost, "/v1/policies/apply", order(s, applyBytes, applyFields, func(w http.ResponseWriter, r *http.Request, in *policyOrder) {
		if in.text == nil {
			s.fail(w, r, fmt.Errorf(`%w: want {"name": of the file, "text": the policies}`, policy.ErrInvalid))
			return
		}
		name := value(in.name)
		if name == "" {
			name = "policies"
		}
		out, err := p.Apply(r.Context(), name, *in.text)
		s.reply(w, r, out, err)
	}))
	route(http.MethodPost, "/v1/policies/rollback", order(s, checkBytes, rollbackFields, func(w http.ResponseWriter, r *http.Request, in *policyOrder) {
		if value(in.number) < 0 {
			s.fail(w, r, fmt.Errorf(`%w: want {"number": of an edition}, or {} for the one before`, policy.ErrInvalid))
			return
		}
		out, err := p.Rollback(r.Context(), uint64(value(in.number)))
		s.reply(w, r, out, err)
	}))
	route(http.MethodPost, "/v1/policies/withdraw", order(s, checkBytes, withdrawFields, func(w http.ResponseWriter, r *http.Request, _ *policyOrder) {
		out, err := p.Withdraw(r.Context())
		s.reply(w, r, out, err)
	}))
	route(http.MethodPost, "/v1/policies/explain", order(s, checkBytes, checkFields, func(w http.ResponseWriter, r *http.Request, in *check) {
		req, err := in.request()
		if err != nil {
			s.fail(w, r, fmt.Errorf("%w: %w", policy.ErrInvalid, err))
			return
		}
		out, err := p.Explain(r.Context(), &req)
		s.reply(w, r, out, err)
	}))
}

// reply answers with a value or an error.
func (s *server) reply(w http.ResponseWriter, r *http.Request, out any, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, out)
}
