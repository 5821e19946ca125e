package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node/source"
)

// maxAnswer is longer than the answer with the longest text: that in base64, and what stands beside it.
const maxAnswer = policy.MaxTextBytes*4/3 + 64<<10

// answer is what Consul has under the key.
type answer struct {
	index uint64 // 0: it said none
	entry *entry // nil: there is no such key
}

type entry struct {
	Value       []byte // base64 in JSON
	ModifyIndex uint64
}

// ask asks for the key, and waits while its index is the given one, for s.wait at the longest. The error wraps
// source.ErrUnreachable or source.ErrRefused.
func (s *Source) ask(ctx context.Context, client *http.Client, index uint64) (answer, error) {
	patience := s.margin
	if index > 0 { // Consul adds up to a sixteenth to the wait, so that not all come back at once
		patience += s.wait + s.wait/16
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.question(index), nil)
	if err != nil {
		return answer{}, s.unreachable(err)
	}
	if s.cfg.Token != "" {
		request.Header.Set("X-Consul-Token", s.cfg.Token)
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, s.unreachable(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return answer{}, s.unreachable(err)
	}
	header := response.Header.Get("X-Consul-Index")
	number, _ := strconv.ParseUint(header, 10, 64) // 0 if it is none
	switch code := response.StatusCode; {
	case code == http.StatusOK:
		e, err := parse(body)
		if err != nil {
			return answer{}, s.unreachable(err)
		}
		return answer{number, e}, nil
	case code == http.StatusNotFound && header != "": // without one it is not Consul who says so
		return answer{number, nil}, nil
	case code == http.StatusForbidden || code == http.StatusUnauthorized:
		return answer{}, fmt.Errorf("%s is %w by %s: %s (%s); give a token that may read the key, until then the policies "+
			"stay as they are", s.name(), source.ErrRefused, s.url.Host, response.Status, firstLine(body))
	}
	return answer{}, s.unreachable(fmt.Errorf("it answers %s (%s)", response.Status, firstLine(body)))
}

func parse(body []byte) (*entry, error) {
	if len(body) > maxAnswer {
		return &entry{Value: body}, nil // too large, whatever is in it
	}
	var entries []entry
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, fmt.Errorf("this is not an answer of Consul: %w", err)
	}
	if len(entries) != 1 {
		return nil, errors.New("this is not an answer of Consul: it has not one entry")
	}
	return &entries[0], nil
}

// question is the URL to ask.
func (s *Source) question(index uint64) string {
	query := make(url.Values)
	if index > 0 {
		query.Set("index", strconv.FormatUint(index, 10))
		query.Set("wait", s.wait.String())
	}
	if s.cfg.Datacenter != "" {
		query.Set("dc", s.cfg.Datacenter)
	}
	u := s.url
	u.RawQuery = query.Encode()
	return u.String()
}

func (s *Source) report(to *source.Reporter, now answer) {
	if now.entry == nil {
		to.Failed(fmt.Errorf("%s is %w; put it there with: consul kv put %s @FILE; until then the policies stay as they are",
			s.name(), source.ErrMissing, s.cfg.Key))
		return
	}
	to.Found(source.Found{Name: s.name(), Text: now.entry.Value, Revision: now.entry.ModifyIndex})
}

func (s *Source) name() string { return "consul key " + s.cfg.Key }

func (s *Source) unreachable(err error) error {
	return fmt.Errorf("%s is %w at %s: %w; see that Consul runs there and has a leader, until it answers the policies stay as "+
		"they are", s.name(), source.ErrUnreachable, s.url.Host, err)
}

// firstLine is what to quote of an answer that is an error.
func firstLine(body []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(body[:min(len(body), 200)])), "\n")
	return line
}
