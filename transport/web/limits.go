package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// LimitsStore has limits for single keys, in place of those of their policies. Its methods are called from many goroutines at once, and
// their errors wrap sentinels of package policy if the caller is to blame.
type LimitsStore interface {
	// SetLimits has keys get limits of their own, or those of their policies again, and returns as many results, in the same order.
	SetLimits(ctx context.Context, keys []policy.KeyLimits) []policy.KeyResult
	// Limits returns what a key has, as Text.
	Limits(ctx context.Context, key policy.KeyLimits) (policy.KeyLimits, policy.KeyResult, error)
}

// MaxLimitsBatch is the largest number of keys in one POST /v1/limits.
const MaxLimitsBatch = 1000

const (
	limitsBytes = 2*policy.MaxStoredBytes + 1<<10
	// limitsBatchBytes is for what is sent: most keys have little.
	limitsBatchBytes = 4 << 20
	limitsPath       = "/v1/limits/"
)

// keyResult is the JSON of what has become of one key.
type keyResult struct {
	Number uint64 `json:"number"`
	Owner  string `json:"owner"`
	// Kept is on the owner's disk, copied in another node's memory.
	Kept   bool `json:"kept"`
	Copied bool `json:"copied"`
}

// keyLimits is the JSON of what a key has.
type keyLimits struct {
	Limits json.RawMessage `json:"limits"`
	Number uint64          `json:"number"`
	Owner  string          `json:"owner"`
}

// limits adds the route for many keys, and returns the handler of those below limitsPath.
func (s *server) limits(route func(method, path string, h http.HandlerFunc), store LimitsStore) http.Handler {
	one := func(do func(w http.ResponseWriter, r *http.Request, k policy.KeyLimits)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			k, err := keyOf(r.URL)
			if err != nil {
				s.fail(w, r, err)
				return
			}
			do(w, r, k)
		}
	}
	set := func(w http.ResponseWriter, r *http.Request, k policy.KeyLimits) {
		got := store.SetLimits(r.Context(), []policy.KeyLimits{k})[0]
		s.reply(w, r, resultOf(&got), got.Err)
	}
	put := one(func(w http.ResponseWriter, r *http.Request, k policy.KeyLimits) {
		body, err := readJSON(w, r, limitsBytes)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		k.Text = body
		set(w, r, k)
	})
	get := one(func(w http.ResponseWriter, r *http.Request, k policy.KeyLimits) {
		got, at, err := store.Limits(r.Context(), k)
		if err == nil && got.Text == "" {
			err = fmt.Errorf("%w: the key has no limits of its own: it gets those of policy %s", ErrNotFound, k.Policy)
		}
		s.reply(w, r, keyLimits{rawJSON(got.Text), at.Number, at.Owner}, err)
	})
	route(http.MethodPost, strings.TrimSuffix(limitsPath, "/"), order(s, limitsBatchBytes, limitsBatchFields,
		func(w http.ResponseWriter, r *http.Request, in *limitsBatch) {
			if in.keys == nil {
				s.fail(w, r, fmt.Errorf(`%w: want {"keys": [{"policy", "key", "limits"}]}`, policy.ErrInvalid))
				return
			}
			s.setMany(w, r, store, in.keys)
		}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPut:
			put(w, r)
		case http.MethodDelete:
			one(set)(w, r)
		case http.MethodGet, http.MethodHead:
			get(w, r)
		default:
			w.Header().Set("Allow", "GET, HEAD, PUT, DELETE")
			refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "this path wants GET, PUT or DELETE")
		}
	})
}

// setMany sets the limits of many keys. A bad one never fails the others.
func (s *server) setMany(w http.ResponseWriter, r *http.Request, store LimitsStore, items []json.RawMessage) {
	out := make([]any, len(items))
	var keys []policy.KeyLimits
	var places []int
	for i, raw := range items {
		k, err := decodeKey(raw)
		if err != nil {
			out[i] = itemError{failed(err)}
			continue
		}
		keys, places = append(keys, k), append(places, i)
	}
	for i, got := range store.SetLimits(r.Context(), keys) {
		if got.Err == nil {
			out[places[i]] = resultOf(&got)
			continue
		}
		if out[places[i]] = (itemError{failed(got.Err)}); failed(got.Err).Code == "internal" {
			s.log.ErrorContext(r.Context(), "limits of a key were not set", "err", got.Err)
		}
	}
	s.answer(w, r, struct {
		Results []any `json:"results"`
	}{out})
}

type itemError struct {
	Error failure `json:"error"`
}

func resultOf(r *policy.KeyResult) keyResult { return keyResult{r.Number, r.Owner, r.Kept, r.Copied} }

// rawJSON is a text as JSON: itself, or a string if it is something else.
func rawJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, err := json.Marshal(text)
	if err != nil { // a string can always be encoded
		return nil
	}
	return b
}

// keyOf reads a policy and the parts of a key from a path. The error wraps policy.ErrInvalid.
func keyOf(u *url.URL) (k policy.KeyLimits, err error) {
	rest := strings.TrimPrefix(u.EscapedPath(), limitsPath)
	all := strings.Split(rest, "/")
	for i, text := range all {
		if all[i], err = url.PathUnescape(text); err != nil || text == "" {
			return k, fmt.Errorf("%w: the path is %.60q, want %s followed by a policy and the parts of a key, each with a slash before it",
				policy.ErrInvalid, u.Path, limitsPath)
		}
	}
	return policy.KeyLimits{Policy: all[0], Parts: all[1:]}, nil
}

// readJSON reads a body of JSON. The error wraps policy.ErrInvalid or errTooLarge.
func readJSON(w http.ResponseWriter, r *http.Request, most int64) (string, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && kind != "application/json" {
		return "", fmt.Errorf("%w: Content-Type is %.60q, want application/json", policy.ErrInvalid, kind)
	}
	body, err := read(w, r, most)
	if err != nil {
		return "", err
	}
	if err := wellFormed(body); err != nil {
		return "", fmt.Errorf(`%w: %w; want {"tier": NAME}, {"limits": [...]} or {"unlimited": true}`, policy.ErrInvalid, err)
	}
	return string(body), nil
}

// limitsBatch is the body of POST /v1/limits. Its items are read one by one.
type limitsBatch struct{ keys []json.RawMessage }

var limitsBatchFields = fields[limitsBatch]{
	"keys": func(w walk, at string, b *limitsBatch) (err error) { b.keys, err = w.array(at, MaxLimitsBatch); return },
}

// keyOrder is one of them; nil is absent.
type keyOrder struct {
	policy, key *string
	parts       []json.RawMessage
	limits      json.RawMessage
}

var keyOrderFields = fields[keyOrder]{
	"policy": func(w walk, at string, k *keyOrder) (err error) { k.policy, err = w.text(at); return },
	"key":    func(w walk, at string, k *keyOrder) (err error) { k.key, err = w.text(at); return },
	"parts": func(w walk, at string, k *keyOrder) (err error) {
		k.parts, err = w.array(at, policy.MaxKeyParts)
		return
	},
	"limits": func(w walk, _ string, k *keyOrder) (err error) { k.limits, err = w.raw(); return },
}

func decodeKey(raw json.RawMessage) (k policy.KeyLimits, err error) {
	in, err := decode(raw, keyOrderFields)
	switch {
	case err != nil:
		return k, fmt.Errorf("%w: %w", policy.ErrInvalid, err)
	case in.policy == nil || in.key != nil && in.parts != nil || in.limits == nil:
		return k, fmt.Errorf(`%w: want "policy", "key" or "parts", and "limits", which are null for those of the policy`, policy.ErrInvalid)
	}
	k = policy.KeyLimits{Policy: *in.policy, Key: value(in.key)}
	if in.key == nil {
		k.Parts = []string{}
	}
	for _, part := range in.parts {
		var text *string
		if text, err = newWalk(part).text("parts"); err == nil && text == nil {
			err = errors.New("a part of the key is null")
		}
		if err != nil {
			return k, fmt.Errorf("%w: %w", policy.ErrInvalid, err)
		}
		k.Parts = append(k.Parts, *text)
	}
	if text := string(in.limits); text != "null" {
		k.Text = text
	}
	return k, nil
}
