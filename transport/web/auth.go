package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

// AuthConfig says how gateways are answered that ask before each request of theirs, as by nginx's auth_request or Caddy's forward_auth.
// The zero AuthConfig works, for a handler that has a limiter.
type AuthConfig struct {
	// Limiter decides. Default: that of the handler.
	Limiter Limiter
	// Attributes are read from these headers, by the attribute's name, beside those of Forwarded or in their place; "" is one that is not
	// read. A header that is absent, empty, or there more than once makes none.
	Attributes map[string]string
	// TrustedProxies is how many proxies of your own each request passes, the gateway among them, which each append to X-Forwarded-For whom
	// they were called by: the client is that many entries from the right. With 0 nobody is believed, and there is no ip. Default: 0.
	TrustedProxies int
	// Headers are the styles of the answers' fields, which gateways may pass on, such that headers.Validate has nothing against them.
	// Default (nil): headers.Default.
	Headers []headers.Style
	// FailClosed refuses with 503 what could not be decided, which is else let pass.
	FailClosed bool
}

// Forwarded are the attributes that are read from headers if nothing else is said, and from which. The gateway has to set each of them
// itself, or its clients choose what they say.
//
// Whatever the header, ip is by TrustedProxies, host is in lower case and without a port (headers.Host), and route is the path of a URI in
// one spelling (headers.Path).
func Forwarded() map[string]string {
	return map[string]string{
		"method": "X-Forwarded-Method", "host": "X-Forwarded-Host", "route": "X-Forwarded-Uri", "ip": "X-Forwarded-For",
	}
}

// statusField tells the status that the client should get where the gateway understands only 403.
const statusField = "X-RateLimit-Status"

// auth serves /v1/auth and /v1/auth/POLICY, for any method. Bodies are not read. Of the query only deny is: it may be that of the client,
// which some gateways pass on, and he must not choose a policy.
func (s *server) auth(cfg AuthConfig) http.HandlerFunc {
	if err := headers.Validate(cfg.Headers); err != nil {
		panic(fmt.Errorf("web: AuthConfig.Headers: %w", err))
	}
	from := Forwarded()
	for name, header := range cfg.Attributes {
		if from[name] = header; header == "" {
			delete(from, name)
		}
	}
	if cfg.Headers == nil {
		cfg.Headers = headers.Default()
	}
	if cfg.Limiter == nil {
		cfg.Limiter = s.lim
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			w.Header().Set("Connection", "close") // or the server would wait for the body
		}
		asked := authAsk{deny403: r.URL.Query().Get("deny") == "403"}
		d, err := cfg.Limiter.Check(r.Context(), policy.Request{
			Policy: r.PathValue("policy"), Attributes: attributes(r.Header, from, cfg.TrustedProxies),
		})
		if err == nil {
			for _, f := range headers.Fields(cfg.Headers, time.Now(), d) {
				w.Header().Set(f.Name, f.Value)
			}
		}
		switch {
		case errors.Is(err, policy.ErrInvalid), errors.Is(err, policy.ErrUnknownPolicy):
			s.log.DebugContext(r.Context(), "a gateway's request is refused", "err", err)
			asked.refuse(w, err)
		case err != nil && r.Context().Err() != nil:
			s.fail(w, r, err)
		case err != nil && cfg.FailClosed:
			s.log.ErrorContext(r.Context(), "a gateway's request was not decided, and is refused", "err", err)
			asked.deny(w, policy.Decision{DecidedBy: policy.Timeout})
		case err != nil:
			s.log.ErrorContext(r.Context(), "a gateway's request was not decided, and is let pass", "err", err)
			pass(w)
		case !d.Allowed:
			asked.deny(w, d)
		case d.Wait() > 0 && !turn(w, r, d.Wait()):
			s.fail(w, r, r.Context().Err())
		default:
			pass(w)
		}
	}
}

// authAsk is how a gateway wants to be answered.
type authAsk struct{ deny403 bool }

func pass(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

func (a *authAsk) deny(w http.ResponseWriter, d policy.Decision) {
	answer := headers.Deny(d)
	answer.Write(w, a.status(w, answer.Status))
}

// refuse answers what is no denial of a limit, with a problem body as well: gateways may tell by that who answers. They pass it on, so it
// quotes nothing that a client need not know, such as a key.
func (a *authAsk) refuse(w http.ResponseWriter, err error) {
	status, _ := classify(err)
	detail := err.Error()
	if errors.Is(err, policy.ErrInvalid) && !errors.Is(err, policy.ErrMissingKey) {
		detail = "The request has what its limit goes by in a wrong form."
	}
	body, failed := json.Marshal(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
	if failed != nil { // texts and a number can always be encoded
		body = nil
	}
	headers.Denial{Status: status, Body: body}.Write(w, a.status(w, status))
}

// status returns what to answer instead of a status.
func (a *authAsk) status(w http.ResponseWriter, status int) int {
	if !a.deny403 {
		return status
	}
	w.Header().Set(statusField, strconv.Itoa(status))
	return http.StatusForbidden
}

// turn waits for the turn of a request, for as long as that takes; false if the caller leaves before.
func turn(w http.ResponseWriter, r *http.Request, wait time.Duration) bool {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + writeTimeout)) // a writer that can't has no deadline
	return await(r.Context(), wait)
}

// await waits for a turn; false if ctx ends before.
func await(ctx context.Context, turn time.Duration) bool {
	t := time.NewTimer(turn)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
