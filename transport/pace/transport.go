package pace

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Transport is an http.RoundTripper that paces the requests of a client. The zero value is ready to use. Its fields must not change once it is
// used; a Transport must not be copied then. Safe for concurrent use.
//
// A host that answers 429 or 503 and says when to come back (Retry-After in seconds or as a date, retry-after-ms, or RateLimit with r=0 and t)
// gets nothing more before. Up to 1024 such hosts are remembered, each until it opens; of more, those that open first are forgotten.
type Transport struct {
	// Base sends the requests. Default: http.DefaultTransport.
	Base http.RoundTripper
	// Key returns the place that a request goes to: what is closed when its server says so, and the key under which Limiter is asked. It
	// is called once for each request, which it must not change. Default: scheme and host, such as "https://api.example.com".
	Key func(*http.Request) string
	Options

	gate gate
}

// RoundTrip sends a request when it may go. It blocks up to MaxWait for that, beside the time that Base takes. A request that would have to wait
// longer is not sent: the error is a *LimitedError, which wraps ErrLimited. It wraps the error of the request's context if that ends first.
//
// With MaxAttempts, a request that was denied is sent again when the server has said, if that is within MaxWait and its body can be had again
// (there is none, or GetBody is set). After a 429 (RFC 6585, section 4) that goes for all methods, since who counts requests refuses one
// before anything is done for it; after a 503, which may come from halfway, only for those that are idempotent (RFC 9110, section 9.2.2), or
// that carry an Idempotency-Key. Otherwise the denial is the response.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	place := t.place(req)
	ctx := req.Context()
	last := t.last(ctx, time.Now())
	next := req
	for attempt := 1; ; attempt++ {
		if err := t.turn(ctx, &t.gate, place, last); err != nil {
			if attempt == 1 && req.Body != nil {
				_ = req.Body.Close() // a RoundTripper does in any case, and nobody has read it
			}
			return nil, err
		}
		if attempt > 1 {
			var err error
			if next, err = again(req); err != nil {
				return nil, err
			}
		}
		resp, err := t.base().RoundTrip(next)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		wait, closed := told(resp, now)
		if !closed {
			return resp, nil
		}
		opens := now.Add(t.believed(wait))
		t.gate.close(place, opens, now)
		if attempt >= t.MaxAttempts || opens.After(last) || !repeatable(req, resp.StatusCode) {
			return resp, nil
		}
		discard(resp)
	}
}

// CloseIdleConnections closes those of Base, if it has such a method.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func (t *Transport) place(req *http.Request) string {
	if t.Key != nil {
		return t.Key(req)
	}
	return strings.ToLower(req.URL.Scheme + "://" + req.URL.Host)
}

// repeatable says whether a request may be sent again after a denial of this status.
func repeatable(req *http.Request, status int) bool {
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return false
	}
	if status == http.StatusTooManyRequests {
		return true
	}
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return req.Header.Get("Idempotency-Key") != ""
}

// again returns the same request with its body from the start.
func again(req *http.Request) (*http.Request, error) {
	next := req.Clone(req.Context())
	if req.GetBody == nil {
		return next, nil
	}
	body, err := req.GetBody()
	next.Body = body
	return next, err
}

// discard reads what is left of a response, so that its connection can be used again, unless that is much.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // whatever fails here, the connection is closed for it
	_ = resp.Body.Close()
}
