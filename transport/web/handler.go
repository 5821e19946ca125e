package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// MaxBatch is the largest number of checks in one /v1/check_batch.
const MaxBatch = 1000

// The largest bodies that are read.
const (
	checkBytes  = 64 << 10
	batchBytes  = 1 << 20
	forgetBytes = 4 << 10
	applyBytes  = 8 << 20 // a text of policies, most of it escaped
)

// Limiter decides what this package carries. Both methods are called from many goroutines at once.
type Limiter interface {
	// Check decides one request. The error wraps one of the sentinels of package policy or of the context; any other is
	// taken for a fault of the server.
	Check(ctx context.Context, req policy.Request) (policy.Decision, error)
	// CheckBatch decides the requests and returns as many results, in the same order.
	CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result
}

// Config says what is served beside checks. The zero Config serves checks and health. The functions are called from
// many goroutines at once.
type Config struct {
	// Logger gets the faults of the server, which callers are not told in detail. Default: they are dropped.
	Logger *slog.Logger
	// Ready returns nil if this node takes checks, else the reason. It should not depend on peers or clients. Default:
	// always ready.
	Ready func() error
	// Metrics answers /metrics. Default: 404.
	Metrics http.Handler
	// Members returns what /v1/members shows, as a value for encoding/json. Default: 404.
	Members func() any
	// Ring returns what /v1/ring shows, as a value for encoding/json. Default: 404.
	Ring func() any
	// Partitions returns what /v1/ring/partitions shows, as a value for encoding/json. Default: 404.
	Partitions func() any
	// Forget drops a member from the cluster's list, for POST /v1/members/forget. The caller is told the text of the error:
	// known says that there is such a member, so that something else is in the way. Default: 404.
	Forget func(member string) (known bool, err error)
	// Policies are what is served below /v1/policies. Default: 404.
	Policies Policies
	// Limits is what is served below /v1/limits. Default: 404.
	Limits LimitsStore
	// Auth is how gateways are answered at /v1/auth. Default: 404.
	Auth *AuthConfig
	// Leases returns what /v1/leases shows, as a value for encoding/json. Default: 404.
	Leases func() any
}

// Handler returns the handler of all routes, which is safe for concurrent use. Without a limiter it serves no checks. It panics if
// headers.Validate has something against the Headers of Auth.
func Handler(lim Limiter, cfg Config) http.Handler {
	s := &server{lim: lim, log: cfg.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	var keyed http.Handler
	route := func(method, path string, h http.HandlerFunc) {
		mux.Handle(method+" "+path, h)
		mux.Handle(path, refuseMethod(method))
	}
	if lim != nil {
		route(http.MethodPost, "/v1/check", s.check)
		route(http.MethodPost, "/v1/check_batch", s.checkBatch)
	}
	if cfg.Auth != nil {
		auth := s.auth(*cfg.Auth)
		mux.HandleFunc("/v1/auth", auth)
		mux.HandleFunc("/v1/auth/{policy}", auth)
	}
	route(http.MethodGet, "/livez", s.health(nil))
	route(http.MethodGet, "/readyz", s.health(cfg.Ready))
	if cfg.Metrics != nil {
		route(http.MethodGet, "/metrics", cfg.Metrics.ServeHTTP)
	}
	if cfg.Members != nil {
		route(http.MethodGet, "/v1/members", s.view(cfg.Members))
	}
	if cfg.Ring != nil {
		route(http.MethodGet, "/v1/ring", s.view(cfg.Ring))
	}
	if cfg.Partitions != nil {
		route(http.MethodGet, "/v1/ring/partitions", s.view(cfg.Partitions))
	}
	if cfg.Forget != nil {
		route(http.MethodPost, "/v1/members/forget", s.forget(cfg.Forget))
	}
	if cfg.Policies != nil {
		s.policies(route, cfg.Policies)
	}
	if cfg.Limits != nil {
		keyed = s.limits(route, cfg.Limits)
	}
	if cfg.Leases != nil {
		route(http.MethodGet, "/v1/leases", s.view(cfg.Leases))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", "no such path: checks go to POST /v1/check")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if keyed != nil && strings.HasPrefix(r.URL.EscapedPath(), limitsPath) {
			keyed.ServeHTTP(w, r) // the mux would take keys for directories
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// refuseMethod returns a handler for the methods that a path does not have.
func refuseMethod(method string) http.Handler {
	allowed := method
	if method == http.MethodGet {
		allowed += ", " + http.MethodHead
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allowed)
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "this path wants "+method)
	})
}
