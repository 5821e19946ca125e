package consul

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node/source"
)

func TestWatch(t *testing.T) {
	s := serve(t, (*httptest.Server).Start)
	s.put("first")
	w := watch(t, s)
	if f := w.finds(t, "first"); f.Name != "consul key "+key || f.Revision != 11 {
		t.Errorf("found %s at %d, want consul key %s at 11", f.Name, f.Revision, key)
	}
	if q := s.asked(t, 1); q != (question{}) {
		t.Errorf("asked first with %+v, want no index", q)
	}
	s.put("second")
	w.finds(t, "second")
	if q := s.asked(t, 1); q != (question{"11", "55s"}) {
		t.Errorf("asked then with %+v, want index 11 for 55s", q)
	}
	s.put("second") // no news
	s.put("third")
	w.finds(t, "third")
	s.delete()
	w.fails(t, source.ErrMissing, key, "consul kv put")
	s.put("third") // as before
	s.put("")
	w.finds(t, "")
}

func TestMissingAtFirst(t *testing.T) {
	s := serve(t, (*httptest.Server).Start)
	w := watch(t, s)
	w.fails(t, source.ErrMissing)
	s.asked(t, 1)
	if q := s.asked(t, 1); q.index != "10" {
		t.Errorf("asked then with %+v, want the index of the answer that there is no such key, 10", q)
	}
	s.put("first")
	w.finds(t, "first")
}

// A question that Consul has kept as long as it may is asked again.
func TestNothingNew(t *testing.T) {
	s := serve(t, (*httptest.Server).Start)
	s.put("first")
	w := watch(t, s, func(src *Source) { src.wait = 10 * time.Millisecond })
	w.finds(t, "first")
	if q := s.asked(t, 5); q != (question{"11", "10ms"}) {
		t.Errorf("asked with %+v, want index 11 still", q)
	}
	s.put("second")
	w.finds(t, "second")
}

func TestIndex(t *testing.T) {
	for _, test := range []struct{ asked, answered, want uint64 }{
		{0, 7, 7}, {7, 7, 7}, {7, 9, 9},
		{7, 6, 0}, // it fell: begin anew
		{0, 0, 1}, // none: not 0, which is answered at once
		{7, 0, 1},
	} {
		if got := next(test.asked, test.answered); got != test.want {
			t.Errorf("after %d was answered with %d: %d, want %d", test.asked, test.answered, got, test.want)
		}
	}
}

// Servers that were restored from a copy have an older index, which would never be reached by waiting.
func TestIndexFalls(t *testing.T) {
	s := serve(t, (*httptest.Server).Start)
	s.restore("new", 1000)
	w := watch(t, s)
	w.finds(t, "new")
	s.asked(t, 2)
	s.restore("old", 7)
	if f := w.finds(t, "old"); f.Revision != 7 {
		t.Errorf("found at %d, want 7", f.Revision)
	}
	if q := s.asked(t, 1); q.index != "" {
		t.Errorf("asked with %+v, want no index", q)
	}
	s.put("newer")
	w.finds(t, "newer")
}

// Trouble is told once, however often it is met, and passes.
func TestTrouble(t *testing.T) {
	for _, test := range []struct {
		name    string
		instead http.HandlerFunc
		kind    error
		said    []string
	}{
		{"no leader", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "No cluster leader\nmore", http.StatusInternalServerError)
		}, source.ErrUnreachable, []string{"500 Internal Server Error (No cluster leader);", "see that Consul runs"}},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, source.ErrUnreachable,
			[]string{"EOF"}},
		{"hangs up in the middle", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("[{"))
		}, source.ErrUnreachable, []string{"EOF"}},
		{"no right", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Permission denied", http.StatusForbidden)
		}, source.ErrRefused, []string{"403 Forbidden (Permission denied);", "give a token"}},
		{"not Consul: nothing there", http.NotFound, source.ErrUnreachable, []string{"404"}},
		{"not Consul: a page", func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte("<html>"))
		}, source.ErrUnreachable, []string{"not an answer of Consul"}},
		{"not Consul: no entry", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("[]")) },
			source.ErrUnreachable, []string{"not an answer of Consul"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, (*httptest.Server).Start)
			s.put("first")
			w := watch(t, s)
			w.finds(t, "first")
			s.answers(test.instead)
			w.fails(t, test.kind, append(test.said, "consul key "+key)...)
			for len(s.questions) > 0 {
				<-s.questions
			}
			s.asked(t, 2)
			s.answers(nil)
			s.put("second")
			w.finds(t, "second")
		})
	}
}

// A server that has gone without a word is found by waiting for it.
func TestSilence(t *testing.T) {
	s := serve(t, (*httptest.Server).Start)
	s.put("first")
	w := watch(t, s, func(src *Source) { src.wait, src.margin = 10*time.Millisecond, time.Second })
	w.finds(t, "first")
	s.answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	w.fails(t, source.ErrUnreachable, "deadline")
	s.answers(nil)
	s.put("second")
	w.finds(t, "second")
}

// The token does not go where somebody says that Consul is now.
func TestRedirect(t *testing.T) {
	s := serve(t, (*httptest.Server).Start)
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			t.Errorf("a redirect was followed, with the token %q", r.Header.Get("X-Consul-Token"))
		}
		http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
	})
	w := watch(t, s)
	w.fails(t, source.ErrUnreachable, "301")
	s.asked(t, 3)
}

func TestNothingThere(t *testing.T) {
	s := serve(t, (*httptest.Server).Start)
	w := watch(t, s, func(src *Source) { src.url.Host = "127.0.0.1:1" })
	w.fails(t, source.ErrUnreachable, "127.0.0.1:1", "refused")
}

func TestTooLarge(t *testing.T) {
	s := serve(t, (*httptest.Server).Start)
	most := strings.Repeat("x", policy.MaxTextBytes)
	s.put(most)
	w := watch(t, s)
	w.finds(t, most)
	s.put(most + "x")
	w.fails(t, source.ErrTooLarge, key, "shorten it")
	s.put(most + most) // no other trouble, though it is not even read
	s.put("small")
	w.finds(t, "small")
}

func TestTLS(t *testing.T) {
	s := serve(t, (*httptest.Server).StartTLS)
	s.put("first")
	w := watch(t, s)
	w.fails(t, source.ErrUnreachable, "certificate")
	trusted := x509.NewCertPool()
	trusted.AddCert(s.Certificate())
	w = watch(t, s, func(src *Source) { src.cfg.TLS = &tls.Config{RootCAs: trusted} })
	w.finds(t, "first")
	s.put("second")
	w.finds(t, "second")
}

func TestConfig(t *testing.T) {
	for _, test := range []struct {
		cfg  Config
		said []string
	}{
		{Config{}, []string{"Address", "Key"}},
		{Config{Address: "127.0.0.1:8500", Key: "a"}, []string{"Address"}},
		{Config{Address: "tcp://127.0.0.1:8500", Key: "a"}, []string{"Address"}},
		{Config{Address: "http://127.0.0.1:8500", Key: "/a", TLS: &tls.Config{}}, []string{"Address", "https", "Key", `"/a"`}},
		{Config{Address: "http://127.0.0.1:8500", Key: "a/"}, []string{`"a/"`}},
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
	s, err := New(Config{Address: "https://consul.test/proxy/", Key: "a b/c"})
	if err != nil || s.question(0) != "https://consul.test/proxy/v1/kv/a%20b/c" {
		t.Errorf("asks %s, %v", s.question(0), err)
	}
}
