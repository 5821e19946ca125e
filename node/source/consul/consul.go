package consul

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/node/source"
)

const (
	// longest is how long Consul may keep a question that has no new answer.
	longest = 55 * time.Second
	// margin is how much longer than it may an answer may be under way.
	margin = 10 * time.Second
	// pause comes after each answer. It bounds how often is asked when a key changes all the time, or when Consul answers
	// though nothing has changed.
	pause = 100 * time.Millisecond
)

// Config says which key. Address and Key are required.
type Config struct {
	// Address is the URL of an agent or a server, such as http://127.0.0.1:8500.
	Address string
	// Key is the key, such as drossel/policies.
	Key string
	// Token is an ACL token that may read the key: key "drossel/policies" { policy = "read" }. Empty sends none.
	Token string
	// TLS is for an https Address. Nil trusts whom the system trusts.
	TLS *tls.Config
	// Datacenter is whose store is asked. Empty means that of the agent.
	Datacenter string
}

// Source is a key with policies. Safe for concurrent use.
type Source struct {
	cfg          Config
	url          url.URL
	wait, margin time.Duration // how long Consul may keep a question, and how much longer we wait
}

// New checks the configuration and connects to nothing. The error wraps source.ErrConfig and names all that is wrong.
func New(cfg Config) (*Source, error) {
	var wrong []error
	refuse := func(field, format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%s "+format, append([]any{field}, args...)...))
	}
	address, err := url.Parse(cfg.Address)
	switch {
	case err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "":
		refuse("Address", "is no URL such as http://127.0.0.1:8500")
	case cfg.TLS != nil && address.Scheme != "https":
		refuse("Address", "is %s, want https because there is TLS", address.Redacted())
	}
	if cfg.Key == "" || strings.HasPrefix(cfg.Key, "/") || strings.HasSuffix(cfg.Key, "/") {
		refuse("Key", "is %q, want a key such as drossel/policies, without a slash at its ends", cfg.Key)
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%w: %w", source.ErrConfig, errors.Join(wrong...))
	}
	s := &Source{cfg: cfg, url: *address, wait: longest, margin: margin}
	s.url.Path = strings.TrimSuffix(s.url.Path, "/") + "/v1/kv/" + cfg.Key
	s.url.RawPath = "" // the path is escaped anew
	return s, nil
}

// Watch is as source.Source has it. Trouble is source.ErrUnreachable, source.ErrRefused, source.ErrMissing or
// source.ErrTooLarge. That a server is gone without a word is found when a question has gone unanswered for 69 s.
func (s *Source) Watch(ctx context.Context, found func(source.Found), failed func(error)) error {
	report := source.NewReporter(found, failed)
	wire := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.cfg.TLS}
	defer wire.CloseIdleConnections()
	client := &http.Client{Transport: wire, CheckRedirect: stay}

	var retry source.Backoff
	var index uint64 // of the answer that is known; 0 asks for whatever there is
	for ctx.Err() == nil {
		now, err := s.ask(ctx, client, index)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			report.Failed(err)
			index = 0 // so that Consul answers at once when it is back
			retry.Wait(ctx)
		default:
			s.report(report, now)
			index = next(index, now.index)
			retry.Reset()
			rest(ctx)
		}
	}
	return nil
}

// stay follows no redirect: the token would go along, wherever it leads.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// next is the index to ask with after an answer.
func next(asked, answered uint64) uint64 {
	switch {
	case answered == 0: // should not be, and would be asked in a busy loop
		return 1
	case answered < asked: // the servers were restored from an older copy, say
		return 0
	}
	return answered
}

func rest(ctx context.Context) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
