package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"

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
