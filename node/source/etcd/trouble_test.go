package etcd

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drossel-dev/drossel/node/source"
)

func TestNotThereAtFirst(t *testing.T) {
	k := lay(t, "127.0.0.1:0") // to nobody
	w := watch(t, never, at(k.address()))
	w.fails(t, source.ErrUnreachable, k.address(), "see that etcd runs")
	s := serve(t)
	k.lead(s.address)
	w.fails(t, source.ErrMissing)
	s.put(t, "first")
	w.finds(t, "first")
}

func TestNobodyListens(t *testing.T) {
	w := watch(t, never, at("127.0.0.1:1"))
	w.fails(t, source.ErrUnreachable, "http://127.0.0.1:1", "connection refused")
}

func TestRestart(t *testing.T) {
	for _, test := range []struct {
		name     string
		interval time.Duration
	}{{"noticed", 10 * time.Millisecond}, {"unnoticed", never}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.put(t, "first")
			w := watch(t, test.interval, at(s.address))
			w.finds(t, "first")
			s.stop(t)
			if test.interval != never {
				w.fails(t, source.ErrUnreachable)
			}
			s.start(t, func() {})
			s.put(t, "second")
			w.finds(t, "second")
		})
	}
}

// While the link is cut etcd forgets the revisions that the watch would go on from.
func TestCompaction(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.put(t, "first")
	k := lay(t, s.address)
	w := watch(t, never, at(k.address()))
	w.finds(t, "first")
	k.turn(cut)
	s.put(t, "second")
	revision := s.put(t, "third")
	_, err := s.by.Compact(t.Context(), int64(revision))
	ok(t, err)
	k.turn(whole)
	w.finds(t, "third")
	s.put(t, "fourth")
	w.finds(t, "fourth")
}

// The connection stands, and nothing comes through.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.put(t, "first")
	k := lay(t, s.address)
	w := watch(t, 10*time.Millisecond, Config{Endpoints: []string{k.address()}, Timeout: time.Second})
	w.finds(t, "first")
	k.turn(lossy)
	w.fails(t, source.ErrUnreachable, "deadline")
	s.put(t, "second")
	k.turn(whole)
	w.finds(t, "second")
}

func TestPassword(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.put(t, "first")
	ctx := t.Context()
	for _, do := range []func() (any, error){
		func() (any, error) { return s.by.RoleAdd(ctx, "root") },
		func() (any, error) { return s.by.UserAdd(ctx, "root", "toor") },
		func() (any, error) { return s.by.UserGrantRole(ctx, "root", "root") },
		func() (any, error) { return s.by.RoleAdd(ctx, "limits") },
		func() (any, error) {
			return s.by.RoleGrantPermission(ctx, "limits", key, "", clientv3.PermissionType(clientv3.PermRead))
		},
		func() (any, error) { return s.by.UserAdd(ctx, "drossel", "secret") },
		func() (any, error) { return s.by.UserGrantRole(ctx, "drossel", "limits") },
		func() (any, error) { return s.by.UserAdd(ctx, "guest", "guest") },
		func() (any, error) { return s.by.AuthEnable(ctx) },
	} {
		_, err := do()
		ok(t, err)
	}
	for _, user := range [][2]string{{"", ""}, {"drossel", "wrong"}, {"guest", "guest"}} {
		w := watch(t, never, Config{Endpoints: []string{s.address}, Username: user[0], Password: user[1]})
		w.fails(t, source.ErrRefused, "the name and the password of a user who may read it")
		w.end(t)
	}
	w := watch(t, 10*time.Millisecond, Config{Endpoints: []string{s.address}, Username: "drossel", Password: "secret"})
	w.finds(t, "first")
	// An etcd that has started anew knows none of the tokens that it gave.
	s.stop(t)
	w.fails(t, source.ErrUnreachable)
	s.user, s.password = "root", "toor"
	s.start(t, func() {})
	s.put(t, "second")
	w.finds(t, "second")
}
