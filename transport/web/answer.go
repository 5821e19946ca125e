package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// failure is the JSON of an error.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// ErrNotFound is wrapped by errors of what this package serves that say there is no such thing.
var ErrNotFound = errors.New("not found")

// errTooLarge is wrapped by the error of a body that is larger than what is read.
var errTooLarge = errors.New("body too large")

// classify returns the status and code of an error.
func classify(err error) (status int, code string) {
	switch {
	case errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge, "too_large"
	case errors.Is(err, policy.ErrInvalid), errors.Is(err, policy.ErrInvalidPolicy):
		return http.StatusBadRequest, "invalid_argument"
	case errors.Is(err, policy.ErrUnknownPolicy), errors.Is(err, ErrNotFound):
		return http.StatusNotFound, "not_found"
	case errors.Is(err, policy.ErrUnavailable):
		return http.StatusServiceUnavailable, "unavailable"
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, "deadline_exceeded"
	case errors.Is(err, context.Canceled):
		// The caller has hung up and reads nothing; or the server is stopping, and the caller must not take an empty
		// 200 for an answer.
		return http.StatusServiceUnavailable, "cancelled"
	}
	return http.StatusInternalServerError, "internal"
}

// failed returns what the caller is told of an error: its own text, except of a fault of the server, which may hold
// addresses and names that are nobody else's business.
func failed(err error) failure {
	_, code := classify(err)
	if code == "internal" {
		return failure{code, "internal error: the log of the server says more"}
	}
	return failure{code, err.Error()}
}

// fail answers with an error, and logs it if it is a fault of the server.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, code := classify(err)
	if code == "internal" {
		s.log.ErrorContext(r.Context(), "request failed", "path", r.URL.Path, "err", err)
	}
	refuse(w, status, code, failed(err).Message)
}

// answer answers 200 with a value.
func (s *server) answer(w http.ResponseWriter, r *http.Request, value any) {
	body, err := encode(value)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	send(w, http.StatusOK, body)
}

// refuse answers with an error that is no fault of the server.
func refuse(w http.ResponseWriter, status int, code, message string) {
	body, err := encode(struct {
		Error failure `json:"error"`
	}{failure{code, message}})
	if err != nil { // two strings can always be encoded
		body = nil
	}
	send(w, status, body)
}

// encode returns value as a line of JSON, with "<" and the like as they are: no browser takes it for a page.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store") // an answer is true once
	w.WriteHeader(status)
	_, _ = w.Write(body) // it fails if the caller has hung up, and then there is nobody to tell
}
