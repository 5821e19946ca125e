package web

import (
	"fmt"
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
	return order(s, forgetBytes, forgettingFields, func(w http.ResponseWriter, r *http.Request, f *forgetting) {
		if value(f.member) == "" {
			s.fail(w, r, fmt.Errorf(`%w: want {"member": the id of a member}`, policy.ErrInvalid))
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
	})
}
