// Package web serves the native API as JSON over HTTP, with health, metrics and what a node knows of its cluster.
//
//	POST /v1/check         one check
//	POST /v1/check_batch   {"checks": [...]} to {"results": [{"decision": {...}} or {"error": {...}}, ...]}
//	ANY  /v1/auth          one check for a gateway, about what it says in headers; /v1/auth/POLICY by one policy
//	GET  /v1/members       the members of the cluster
//	GET  /v1/ring          who owns what
//	GET  /v1/leases        who was lent what
//	GET  /livez, /readyz   health of this process, and whether it takes checks
//	GET  /metrics          metrics, if there are any to serve
//
//	GET  /v1/ring/partitions   each partition: its owner, and where it was before
//	POST /v1/members/forget    {"member": "n2"}: drops one that is gone for good from the list whose majority counts
//
// At /v1/auth a denial is 429, or 403 with ?deny=403, and what is refused has a problem body (RFC 9457). Elsewhere every decision is status
// 200, a denial too; other statuses come with {"error": {"code": ..., "message": ...}}.
//
// The bodies are read strictly: unknown and repeated fields, broken UTF-8, numbers that are not whole and anything after
// the value are refused, and the field is named. null means absent. The content type of a check is not looked at, so
// that curl -d works. To forget a member it must be application/json, which no page of another site can send unasked.
//
// GET /v1/members, /v1/ring and /v1/leases tell how the cluster stands. The last shows keys as clients sent them, from all
// members, to whoever reaches the port; and whoever reaches it can have a member forgotten. One that lives joins again.
//
// It does not decide anything, authenticate, or listen.
package web
