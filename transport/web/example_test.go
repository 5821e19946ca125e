package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/web"
)

// generous allows everything.
type generous struct{}

func (generous) Check(_ context.Context, req policy.Request) (policy.Decision, error) {
	return policy.Decision{Allowed: true, Policy: req.Policy, DecidedBy: policy.Exempt}, nil
}

func (g generous) CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result {
	out := make([]policy.Result, len(reqs))
	for i, r := range reqs {
		out[i].Decision, out[i].Err = g.Check(ctx, r)
	}
	return out
}

func ExampleHandler() {
	handler := web.Handler(generous{}, web.Config{}) // in a service: a node

	for _, body := range []string{`{"policy": "api", "key": "user-1"}`, `{"polcy": "api"}`} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("POST", "/v1/check", strings.NewReader(body)))
		var answer struct {
			Allowed bool
			Error   struct{ Message string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %t %q\n", w.Code, answer.Allowed, answer.Error.Message)
	}
	// Output:
	// 200 true ""
	// 400 false "invalid request: unknown field \"polcy\", did you mean \"policy\"?"
}

// A gateway asks before a request that a client has made for /reports.
func ExampleAuthConfig() {
	handler := web.Handler(generous{}, web.Config{Auth: &web.AuthConfig{
		Limiter:        strict{}, // in a service: a node
		Attributes:     map[string]string{"api_key": "X-API-Key"},
		TrustedProxies: 1,
	}})

	r := httptest.NewRequest("GET", "/v1/auth", nil)
	r.Header.Set("X-Forwarded-For", "10.9.9.9, 203.0.113.7") // what the client wrote, and what the gateway knows
	r.Header.Set("X-Forwarded-Uri", "/reports?year=2026")
	r.Header.Set("X-API-Key", "k1")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Retry-After"))
	// Output:
	// map[api_key:k1 ip:203.0.113.7 route:/reports]
	// 429 12
}

// strict shows what it is asked, and denies it.
type strict struct{ generous }

func (strict) Check(_ context.Context, req policy.Request) (policy.Decision, error) {
	fmt.Println(req.Attributes)
	return policy.Decision{LimitName: "reports", Limit: 5, Window: time.Minute, RetryAfter: 12 * time.Second}, nil
}
