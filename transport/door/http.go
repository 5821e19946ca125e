package door

import (
	"encoding/json"
	"errors"
	"net/http"
)

// Handler returns a handler whose callers all pass the hook before next; next itself if that is nil. Who is kept out is answered 401 or 403,
// or 500 if the hook fails, with {"error": {"code": ..., "message": ...}}.
func Handler(hook Authenticate, next http.Handler) http.Handler {
	if hook == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := Caller{Method: r.Method + " " + r.URL.Path, Address: r.RemoteAddr, TLS: r.TLS, Header: r.Header.Values}
		ctx, err := hook(r.Context(), &c)
		switch {
		case err == nil:
			next.ServeHTTP(w, r.WithContext(ctx))
		case errors.Is(err, ErrUnauthenticated):
			w.Header().Set("WWW-Authenticate", "Bearer") // RFC 9110, section 15.5.2, wants one
			keepOut(w, http.StatusUnauthorized, "unauthenticated", err.Error())
		case errors.Is(err, ErrForbidden):
			keepOut(w, http.StatusForbidden, "permission_denied", err.Error())
		default:
			keepOut(w, http.StatusInternalServerError, "internal", faultText)
		}
	})
}

func keepOut(w http.ResponseWriter, status int, code, message string) {
	body, err := json.Marshal(map[string]any{"error": map[string]string{"code": code, "message": message}})
	if err != nil { // strings can always be encoded
		body = nil
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // it fails if the caller has hung up, and then there is nobody to tell
}
