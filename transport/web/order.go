package web

import (
	"fmt"
	"mime"
	"net/http"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// order serves a POST that changes something. Its body is one object of at most so many bytes.
func order[T any](s *server, most int64, known fields[T], do func(w http.ResponseWriter, r *http.Request, in *T)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			refuse(w, http.StatusUnsupportedMediaType, "unsupported_media_type",
				"want Content-Type: application/json, so that no page of another site can send this")
			return
		}
		body, err := read(w, r, most)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		in, err := decode(body, known)
		if err != nil {
			s.fail(w, r, fmt.Errorf("%w: %w", policy.ErrInvalid, err))
			return
		}
		do(w, r, in)
	}
}
