package web

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/drossel-dev/drossel/bucket/policy"
)

type server struct {
	lim Limiter
	log *slog.Logger
}

// check serves POST /v1/check.
func (s *server) check(w http.ResponseWriter, r *http.Request) {
	body, err := read(w, r, checkBytes)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	req, err := decodeCheck(body)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d, err := s.lim.Check(r.Context(), req)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, newDecision(d))
}

// result is the JSON of one answer of a batch: a decision, or the error of that item alone.
type result struct {
	Decision *decision `json:"decision,omitempty"`
	Error    *failure  `json:"error,omitempty"`
}

// checkBatch serves POST /v1/check_batch. Items that cannot be read get their error here, the others go on together.
func (s *server) checkBatch(w http.ResponseWriter, r *http.Request) {
	body, err := read(w, r, batchBytes)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	checks, err := decodeBatch(body)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	out := make([]result, len(checks))
	reqs := make([]policy.Request, 0, len(checks))
	places := make([]int, 0, len(checks)) // of each request, in out
	for i, raw := range checks {
		req, err := decodeCheck(raw)
		if err != nil {
			f := failed(err)
			out[i].Error = &f
			continue
		}
		reqs = append(reqs, req)
		places = append(places, i)
	}
	results := s.decide(r, reqs)
	if len(results) != len(reqs) {
		s.fail(w, r, fmt.Errorf("the limiter answered %d of %d checks", len(results), len(reqs)))
		return
	}
	var faults []error
	for i, res := range results {
		if res.Err != nil {
			f := failed(res.Err)
			if f.Code == "internal" {
				faults = append(faults, res.Err)
			}
			out[places[i]].Error = &f
			continue
		}
		d := newDecision(res.Decision)
		out[places[i]].Decision = &d
	}
	if len(faults) > 0 { // one line for a batch, however many items failed
		s.log.ErrorContext(r.Context(), "checks failed", "items", len(faults), "first", faults[0])
	}
	s.answer(w, r, struct {
		Results []result `json:"results"`
	}{out})
}

// decide asks the limiter, unless there is nothing to ask.
func (s *server) decide(r *http.Request, reqs []policy.Request) []policy.Result {
	if len(reqs) == 0 {
		return nil
	}
	return s.lim.CheckBatch(r.Context(), reqs)
}

// read returns the body of a request, of at most so many bytes.
func read(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, fmt.Errorf("%w: want at most %d bytes", errTooLarge, most)
	case err != nil:
		return nil, fmt.Errorf("%w: the body ends early: %w", policy.ErrInvalid, err)
	}
	return body, nil
}
