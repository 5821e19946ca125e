package node

import (
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"testing"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// TestMemoNamesTheSameBucket asks for hot and cold keys at once, from several goroutines: what is remembered of a key
// is what hashing it gives.
func TestMemoNamesTheSameBucket(t *testing.T) {
	n := start(t, Config{Policies: policies(t)})
	h := planOf(t, n, "api")
	handle, err := n.Handle("api")
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for i := range 20_000 {
				key := fmt.Sprint("hot", i%300)
				if i%3 == 0 {
					key = fmt.Sprint("cold", i)
				}
				var remembered, hashed question
				if err := h.read(&policy.Request{Key: key}, &remembered); err != nil {
					t.Error(err)
				}
				if err := h.read(&policy.Request{Parts: []string{key}}, &hashed); err != nil {
					t.Error(err)
				}
				if remembered.id != hashed.id || remembered.part != hashed.part {
					t.Errorf("key %s: %+v remembered, %+v hashed", key, remembered, hashed)
					return
				}
				if _, err := handle.Check(ctx, policy.Request{Key: key}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	kept := 0
	for i := range h.memo.slots {
		if k := h.memo.slots[i].known.Load(); k != nil && strings.HasPrefix(k.key, "hot") {
			kept++
		}
	}
	if kept == 0 {
		t.Error("no hot key is remembered")
	}
}

func TestMemoForgetsLongKeys(t *testing.T) {
	m := &memo{seed: maphash.MakeSeed()}
	for _, key := range []string{"", strings.Repeat("x", memoKeyBytes+1)} {
		m.learn(key, new(question))
		if m.find(key) != nil {
			t.Errorf("a key of %d bytes is remembered", len(key))
		}
	}
	m.learn("ann", &question{part: 7})
	if k := m.find("ann"); k == nil || k.part != 7 {
		t.Errorf("ann: %+v", k)
	}
}
