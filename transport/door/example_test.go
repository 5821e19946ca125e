package door_test

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/drossel-dev/drossel/transport/door"
)

// Only who has the token comes in.
func ExampleHandler() {
	hook := func(ctx context.Context, c *door.Caller) (context.Context, error) {
		for _, said := range c.Header("Authorization") {
			if subtle.ConstantTimeCompare([]byte(said), []byte("Bearer hunter2")) == 1 {
				return ctx, nil
			}
		}
		return nil, fmt.Errorf("%w: send the token as Authorization: Bearer TOKEN", door.ErrUnauthenticated)
	}
	h := door.Handler(hook, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "decided") }))
	for _, token := range []string{"Bearer hunter2", "Bearer guess"} {
		r := httptest.NewRequest("POST", "/v1/check", nil)
		r.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 decided
	// 401 {"error":{"code":"unauthenticated","message":"unauthenticated: send the token as Authorization: Bearer TOKEN"}}
}
