package web

import (
	"errors"
	"fmt"
	"mime"
	"net/http"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// forgetting is the body of /v1/members/forget.
type forgetting struct{ member *string }

var forgettingFields = fields[forgetting]{
	"member": func(w walk, at string, f *forgetting) (err error) { f.member, err = w.text(at); return },
}

// forget serves POST /v1/members/forget.
func (s *server) forget(drop func(member string) (known bool, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			refuse(w, http.StatusUnsupportedMediaType, "unsupported_media_type",
				"want Content-Type: application/json, so that no page of another site can send this")
			return
		}
		body, err := read(w, r, forgetBytes)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		f, err := decode(body, forgettingFields)
		if err == nil && value(f.member) == "" {
			err = errors.New(`want {"member": the id of a member}`)
		}
		if err != nil {
			s.fail(w, r, fmt.Errorf("%w: %w", policy.ErrInvalid, err))
			return
		}
		switch known, err := drop(*f.member); {
		case err == nil:
			s.answer(w, r, struct {
				Forgotten string `json:"forgotten"`
			}{*f.member})
		case known:
			refuse(w, http.StatusConflict, "conflict", err.Error())
		default:
			refuse(w, http.StatusNotFound, "not_found", err.Error())
		}
	}
}
