package redis

import (
	"encoding/hex"

	"github.com/drossel-dev/drossel/bucket"
)

// Key returns the key of a group: "drossel:{id}:policy", with the id of the group in hexadecimal. In a cluster the id alone says where it
// is: it is never empty and has no braces in it, whatever the key of the policy is, so that keys spread and all that one group ever needs is
// in one place.
func Key(id bucket.ID, policy string) string {
	b := id.Bytes()
	return "drossel:{" + hex.EncodeToString(b[:]) + "}:" + policy
}

// ProbeKey is a key that no group has, for who wants to know if a server takes writes.
const ProbeKey = "drossel:probe"
