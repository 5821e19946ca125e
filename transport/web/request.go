package web

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// maxParts bounds the parts of a key.
const maxParts = policy.MaxKeyParts

// check is a request as its JSON has it; nil is absent.
type check struct {
	policy, key, keyBase64 *string
	attributes             map[string]string
	cost                   *int64
	costs                  map[string]int64
	parts                  []json.RawMessage
	limit                  *limit
	priority               *int64
	checkOnly, refund      *bool
}

type limit struct {
	rate  *string
	burst *int64
}

var limitFields = fields[limit]{
	"rate":  func(w walk, at string, l *limit) (err error) { l.rate, err = w.text(at); return },
	"burst": func(w walk, at string, l *limit) (err error) { l.burst, err = w.integer(at, 64); return },
}

var checkFields = fields[check]{
	"policy":     func(w walk, at string, c *check) (err error) { c.policy, err = w.text(at); return },
	"key":        func(w walk, at string, c *check) (err error) { c.key, err = w.text(at); return },
	"key_base64": func(w walk, at string, c *check) (err error) { c.keyBase64, err = w.text(at); return },
	"attributes": func(w walk, at string, c *check) (err error) {
		c.attributes, err = table(w, at, walk.text)
		return
	},
	"parts": func(w walk, at string, c *check) (err error) { c.parts, err = w.array(at, maxParts); return },
	"cost":  func(w walk, at string, c *check) (err error) { c.cost, err = w.integer(at, 64); return },
	"costs": func(w walk, at string, c *check) (err error) {
		c.costs, err = table(w, at, func(w walk, at string) (*int64, error) { return w.integer(at, 64) })
		return
	},
	"limit":      func(w walk, at string, c *check) (err error) { c.limit, err = object(w, at, limitFields); return },
	"priority":   func(w walk, at string, c *check) (err error) { c.priority, err = w.integer(at, 32); return },
	"check_only": func(w walk, at string, c *check) (err error) { c.checkOnly, err = w.truth(at); return },
	"refund":     func(w walk, at string, c *check) (err error) { c.refund, err = w.truth(at); return },
}

// batch is the body of /v1/check_batch. Its items are read one by one: a bad one never fails the others.
type batch struct{ checks []json.RawMessage }

var batchFields = fields[batch]{
	"checks": func(w walk, at string, b *batch) (err error) { b.checks, err = w.array(at, MaxBatch); return },
}

// decodeCheck reads one check. The error wraps policy.ErrInvalid and names the field.
func decodeCheck(body []byte) (policy.Request, error) {
	c, err := decode(body, checkFields)
	if err != nil {
		return policy.Request{}, fmt.Errorf("%w: %w", policy.ErrInvalid, err)
	}
	req, err := c.request()
	if err != nil {
		return policy.Request{}, fmt.Errorf("%w: %w", policy.ErrInvalid, err)
	}
	return req, nil
}

// decodeBatch reads the body of a batch, but not its items. The error wraps policy.ErrInvalid.
func decodeBatch(body []byte) ([]json.RawMessage, error) {
	b, err := decode(body, batchFields)
	if err == nil && b.checks == nil {
		err = errors.New(`want {"checks": [...]}`)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", policy.ErrInvalid, err)
	}
	return b.checks, nil
}

// decode reads a body that is one object. The result is not nil if the error is.
func decode[T any](body []byte, known fields[T]) (*T, error) {
	if err := wellFormed(body); err != nil {
		return nil, err
	}
	v, err := object(newWalk(body), "", known)
	if err == nil && v == nil {
		err = errors.New("want an object, not null")
	}
	return v, err
}

// request returns the request that the JSON asks for.
func (c *check) request() (policy.Request, error) {
	req := policy.Request{
		Policy:     value(c.policy),
		Attributes: c.attributes,
		Cost:       value(c.cost),
		Costs:      c.costs,
		Priority:   int(value(c.priority)),
		CheckOnly:  value(c.checkOnly) || c.cost != nil && *c.cost == 0,
		Refund:     value(c.refund),
	}
	switch {
	case c.key != nil && c.keyBase64 != nil:
		return req, errors.New("key and key_base64: want one of them")
	case c.key != nil: // perhaps empty: a part is a value even then
		req.Parts = []string{*c.key}
	case c.keyBase64 != nil:
		key, err := base64.StdEncoding.Strict().DecodeString(*c.keyBase64)
		if err != nil {
			return req, fmt.Errorf("key_base64: want standard base64 with padding: %w", err)
		}
		req.Parts = []string{string(key)}
	}
	if c.parts != nil {
		if req.Parts != nil {
			return req, errors.New("parts, and key or key_base64: want one of them")
		}
		req.Parts = make([]string, len(c.parts))
		for i, raw := range c.parts {
			part, err := newWalk(raw).text(fmt.Sprintf("parts[%d]", i))
			if err != nil {
				return req, err
			}
			req.Parts[i] = value(part)
		}
	}
	if c.limit == nil {
		return req, nil
	}
	l, err := policy.ParseRate(value(c.limit.rate))
	if err != nil {
		return req, fmt.Errorf("limit.rate: %w", err)
	}
	if c.limit.burst != nil {
		l.Burst = *c.limit.burst
	}
	if err := l.Validate(); err != nil {
		return req, fmt.Errorf("limit.burst: %w", err)
	}
	req.Limit = &l
	return req, nil
}

// value returns what p points at, or the zero value if it is absent.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}
