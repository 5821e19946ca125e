package etcd

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/node/source"
)

func TestWrongConfig(t *testing.T) {
	for _, test := range []struct {
		cfg  Config
		said []string
	}{
		{Config{}, []string{"Endpoints", "Key"}},
		{Config{Endpoints: []string{"a:1"}, Key: key, Username: "u"}, []string{"Username and Password"}},
		{Config{Endpoints: []string{"a:1"}, Key: key, Timeout: -1}, []string{"Timeout is -1ns"}},
		{Config{Endpoints: []string{"a", "unix:///b", "http://"}, Key: key}, []string{`"a"`, `"unix:///b"`, `"http://"`}},
		{Config{Endpoints: []string{"https://a:1", "http://b:1"}, Key: key}, []string{"http:// though"}},
		{Config{Endpoints: []string{"http://b:1"}, Key: key, TLS: &tls.Config{}}, []string{"http:// though"}},
	} {
		_, err := New(test.cfg)
		if !errors.Is(err, source.ErrConfig) {
			t.Errorf("%+v: got %v, want an error", test.cfg, err)
			continue
		}
		for _, part := range test.said {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: got %q, which does not say %s", test.cfg, err, part)
			}
		}
	}
}

func TestConfig(t *testing.T) {
	for _, test := range []struct {
		endpoints []string
		tls       *tls.Config
		want      []string
	}{
		{[]string{"a:1", "http://b:2/"}, nil, []string{"http://a:1", "http://b:2"}},
		{[]string{"a:1", "https://[::1]:2"}, nil, []string{"https://a:1", "https://[::1]:2"}},
		{[]string{"a:1"}, &tls.Config{}, []string{"https://a:1"}},
	} {
		given := slices.Clone(test.endpoints)
		s, err := New(Config{Endpoints: given, Key: key, TLS: test.tls})
		ok(t, err)
		if !slices.Equal(s.cfg.Endpoints, test.want) || !slices.Equal(given, test.endpoints) || s.cfg.Timeout != 5*time.Second {
			t.Errorf("%q: got %+v, want %q", test.endpoints, s.cfg, test.want)
		}
	}
}
