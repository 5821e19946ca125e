package middleware

import (
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

// fail returns the default OnError.
func fail(closed bool, log *slog.Logger) func(http.ResponseWriter, *http.Request, http.Handler, error) {
	var failures atomic.Uint64
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
		refused := errors.Is(err, ErrNoKey) || errors.Is(err, policy.ErrInvalid)
		if n := failures.Add(1); n&(n-1) == 0 {
			log.WarnContext(r.Context(), "request not decided", "err", err, "served", !refused && !closed, "failures", n)
		}
		switch {
		case refused:
			http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
		case closed:
			headers.Deny(policy.Decision{DecidedBy: policy.Timeout}).Write(w, 0)
		default:
			next.ServeHTTP(w, r)
		}
	}
}
