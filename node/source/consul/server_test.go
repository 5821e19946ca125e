package consul

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is a Consul with one key, as its HTTP API shows it: GET /v1/kv/ with blocking queries.
type server struct {
	*httptest.Server
	key, token, dc string // what is asked for; another key is missing, another token or datacenter refused
	questions      chan question

	mu       sync.Mutex
	index    uint64 // of the store
	value    []byte
	modified uint64 // index of the key, or 0: it is not there
	changed  chan struct{}
	instead  http.HandlerFunc // answers in the server's stead, if there is one
}

type question struct{ index, wait string }

const (
	key   = "team a/policies?"
	token = "4a1d5c1e"
	dc    = "north"
)

// serve starts a server that ends with the test.
func serve(t *testing.T, start func(*httptest.Server)) *server {
	t.Helper()
	s := &server{key: key, token: token, dc: dc, index: 10, questions: make(chan question, 1000), changed: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of those who do not trust it
	start(s.Server)
	t.Cleanup(s.Close)
	return s
}

// change changes the store and wakes whoever waits for that.
func (s *server) change(to func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *server) put(text string) {
	s.change(func() {
		s.index++
		s.value, s.modified = []byte(text), s.index
	})
}

func (s *server) delete() {
	s.change(func() {
		s.index++
		s.modified = 0
	})
}

// restore puts an older copy of the store in place of it.
func (s *server) restore(text string, index uint64) {
	s.change(func() { s.value, s.modified, s.index = []byte(text), index, index })
}

// answers has another answer in the server's stead; nil has the server answer again.
func (s *server) answers(instead http.HandlerFunc) { s.change(func() { s.instead = instead }) }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := question{r.FormValue("index"), r.FormValue("wait")}
	s.mu.Lock()
	instead, known := s.instead, s.index
	s.questions <- q // whoever sees it may change the store: it is asked of the store as it is now
	s.mu.Unlock()
	switch {
	case instead != nil:
		instead(w, r)
	case r.FormValue("dc") != s.dc:
		http.Error(w, "No path to datacenter", http.StatusInternalServerError)
	case r.Header.Get("X-Consul-Token") != s.token:
		http.Error(w, "rpc error making call: Permission denied: token lacks permission 'key:read'", http.StatusForbidden)
	default:
		s.answer(w, r, q, known)
	}
}

// answer answers a question that was asked when the store had an index; one that falls ends the wait, as a restore does.
func (s *server) answer(w http.ResponseWriter, r *http.Request, q question, known uint64) {
	asked, _ := strconv.ParseUint(q.index, 10, 64)
	wait, _ := time.ParseDuration(q.wait)
	late := time.After(wait + wait/16)
	s.mu.Lock()
	defer s.mu.Unlock()
	waits := true
	for waits && asked > 0 && s.keyIndex() <= asked && s.index >= known && s.instead == nil {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-late:
			waits = false
		case <-r.Context().Done():
			waits = false
		}
		s.mu.Lock()
	}
	w.Header().Set("X-Consul-Index", strconv.FormatUint(s.keyIndex(), 10))
	if s.modified == 0 || strings.TrimPrefix(r.URL.Path, "/v1/kv/") != s.key {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	value, _ := json.Marshal(s.value)
	fmt.Fprintf(w, `[{"LockIndex":0,"Key":%q,"Flags":0,"Value":%s,"CreateIndex":1,"ModifyIndex":%d}]`, s.key, value, s.modified)
}

// keyIndex is the index of the key, or of the store if it is not there.
func (s *server) keyIndex() uint64 {
	if s.modified == 0 {
		return s.index
	}
	return s.modified
}
