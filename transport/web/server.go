package web

import (
	"log/slog"
	"net/http"
	"time"
)

// writeTimeout is how long an answer may take, and its turn at a pacer besides.
const writeTimeout = 30 * time.Second

// Server returns a server for h whose callers cannot hold a connection open for long without saying anything: headers
// within 5 s, a request within 15 s, an answer within 30 s (and what it waits for its turn at a pacer), 2 min idle, headers of at most 64 KiB. What net/http has to
// say goes to log at level Warn; a nil log drops it. The caller sets an address or serves its own listener.
func Server(h http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
