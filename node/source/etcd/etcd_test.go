package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node/source"
)

func TestWatch(t *testing.T) {
	s := serve(t)
	w := watch(t, never, at(s.address))
	w.fails(t, source.ErrMissing, "etcdctl put "+key)
	revision := s.put(t, "first")
	if f := w.finds(t, "first"); f.Name != "etcd key "+key || f.Revision != revision {
		t.Errorf("found %s at %d, want etcd key %s at %d", f.Name, f.Revision, key, revision)
	}
	s.put(t, "second")
	w.finds(t, "second")
	s.put(t, "second") // no news
	s.put(t, "third")
	w.finds(t, "third")
	s.delete(t)
	w.fails(t, source.ErrMissing)
	s.put(t, "third") // as before
	s.put(t, "")
	w.finds(t, "")
	w.end(t)

	w = watch(t, never, at("http://"+s.address))
	w.finds(t, "")
	s.put(t, "fourth")
	w.finds(t, "fourth")
}

// The watch and what is asked beside it tell each change once.
func TestAskedBeside(t *testing.T) {
	s := serve(t)
	w := watch(t, time.Millisecond, at(s.address))
	w.fails(t, source.ErrMissing)
	for _, text := range []string{"first", "second", "third"} {
		s.put(t, text)
		w.finds(t, text)
	}
	s.delete(t)
	w.fails(t, source.ErrMissing)
	s.put(t, "fourth")
	w.finds(t, "fourth")
}

// A watch that says nothing is left when the key is not what it was when the watch began.
func TestWatchMissesSomething(t *testing.T) {
	s := serve(t)
	s.put(t, "first")
	src, err := New(Config{Endpoints: []string{s.address}, Key: key})
	ok(t, err)
	src.interval = 10 * time.Millisecond
	now, err := src.read(t.Context(), s.by)
	ok(t, err)
	s.put(t, "second")
	later, err := src.read(t.Context(), s.by)
	ok(t, err)
	silent := source.NewReporter(func(f source.Found) { t.Errorf("found %q", f.Text) }, func(err error) { t.Error(err) })
	var retry source.Backoff
	for _, known := range []state{{later.at, now.kv}, {later.at, nil}} {
		done := make(chan error, 1)
		go func() { done <- src.watch(t.Context(), s.by, known, silent, &retry) }()
		ok(t, receive(t, "the end of the watch", done))
	}
}

func TestTooLarge(t *testing.T) {
	s := serve(t)
	most := strings.Repeat("x", policy.MaxTextBytes)
	s.put(t, most)
	w := watch(t, never, at(s.address))
	w.finds(t, most)
	s.put(t, most+"x")
	w.fails(t, source.ErrTooLarge, "shorten it")
	s.put(t, "small")
	w.finds(t, "small")
}

func TestTLS(t *testing.T) {
	page := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1
	defer page.Close()
	s := serve(t)
	s.put(t, "first")
	k := lay(t, s.address, page.TLS.Certificates...)
	w := watch(t, never, at("https://"+k.address()))
	w.fails(t, source.ErrUnreachable, "certificate")
	w.end(t)
	trusted := x509.NewCertPool()
	trusted.AddCert(page.Certificate())
	w = watch(t, never, Config{Endpoints: []string{k.address()}, TLS: &tls.Config{RootCAs: trusted}})
	w.finds(t, "first")
	s.put(t, "second")
	w.finds(t, "second")
}
