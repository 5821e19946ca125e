package strict

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/rueidis"

	"github.com/drossel-dev/drossel/bucket/redis"
)

// ErrUnavailable is wrapped by the error of what Redis was not asked for, because it is known not to answer.
var ErrUnavailable = errors.New("redis can't be asked")

// Kind says what an error of Client.Ask was, for what is counted.
type Kind uint8

// The kinds of errors there are. Of the first three, of Replicas and of Other, nobody knows as a rule if what was asked for has been done; the others
// say that it was not.
const (
	Timeout    Kind = iota // there was no answer in time
	Connection             // the connection broke, or there was none
	Script                 // the script failed, or its answer is none
	Down                   // it was not asked: see ErrUnavailable
	ReadOnly               // the server is a replica, as in a failover
	Loading                // it has started, and reads its data
	Memory                 // it has none left
	Login                  // name, password or rights are wrong
	Replicas               // too few of them have heard of it in time; it was done
	Cluster                // the cluster is down, or a slot is on its way
	Clock                  // it shows another time than this node
	Late                   // a take was debited before it came
	Other                  // what else Redis says
	kinds
)

// String returns the word used in metrics.
func (k Kind) String() string {
	return [...]string{"timeout", "connection", "script", "down", "readonly", "loading", "memory", "login", "replicas", "cluster", "clock", "late", "other"}[k]
}

// isUndone says of an error that what was asked for was not done.
func isUndone(err error) bool {
	switch KindOf(err) {
	case Timeout, Script, Replicas, Other:
		return false
	case Connection:
		op, ok := errors.AsType[*net.OpError](err)
		return ok && op.Op == "dial"
	}
	return true
}

// KindOf returns what an error of Client.Ask was.
func KindOf(err error) Kind {
	switch {
	case errors.Is(err, ErrUnavailable):
		return Down
	case errors.Is(err, redis.ErrOtherTime):
		return Clock
	case errors.Is(err, errReplicas):
		return Replicas
	case errors.Is(err, errPartly):
		return Other
	case errors.Is(err, redis.ErrDone):
		return Late
	case errors.Is(err, redis.ErrReply):
		return Script
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	said, ok := errors.AsType[*rueidis.RedisError](err)
	if !ok {
		return Connection
	}
	text := said.Error()
	for _, of := range []struct {
		begins string
		kind   Kind
	}{
		{"READONLY", ReadOnly}, {"LOADING", Loading}, {"MASTERDOWN", Loading}, {"OOM", Memory}, {"NOAUTH", Login}, {"WRONGPASS", Login},
		{"NOPERM", Login}, {"MOVED", Cluster}, {"ASK", Cluster}, {"TRYAGAIN", Cluster}, {"CLUSTERDOWN", Cluster}, {"CROSSSLOT", Cluster},
	} {
		if strings.HasPrefix(text, of.begins) || strings.Contains(text, "-"+of.begins) { // as the error of a command in the script
			return of.kind
		}
	}
	if strings.Contains(text, "script") {
		return Script
	}
	return Other
}
