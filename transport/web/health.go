package web

import "net/http"

// health returns a handler that says ok, or 503 and the reason. A nil ready is always ok.
func (s *server) health(ready func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if ready != nil {
			if err := ready(); err != nil {
				refuse(w, http.StatusServiceUnavailable, "unavailable", err.Error())
				return
			}
		}
		send(w, http.StatusOK, []byte(`{"status":"ok"}`+"\n"))
	}
}

// view returns a handler that shows what a function returns.
func (s *server) view(value func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, value()) }
}
