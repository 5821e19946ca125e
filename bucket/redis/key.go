package redis

import "encoding/hex"

// Key returns the key of the group: "drossel:{id}:policy", with the id of the group in hexadecimal. In a cluster the id alone says where it
// is: it is never empty and has no braces in it, whatever the key of the policy is, so that keys spread and all that one group ever needs is
// in one place.
func (a *Ask) Key() string {
	b := a.ID.Bytes()
	return "drossel:{" + hex.EncodeToString(b[:]) + "}:" + a.Policy
}

// ProbeKey is a key that no group has, for who wants to know if a server takes writes.
const ProbeKey = "drossel:probe"
