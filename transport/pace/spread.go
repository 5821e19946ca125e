package pace

import "time"

// least is the shortest wait that is obeyed: a server that denies and says "at once" is not asked again in the same instant.
const least = 100 * time.Millisecond

// spread returns how long to wait in place of wait, so that those who were told the same instant do not all return in it: up to a quarter more,
// by random in [0, 1), and never less. It is at most room, which is not less than wait.
func spread(wait, room time.Duration, random float64) time.Duration {
	return wait + min(time.Duration(float64(wait/4)*random), room-wait)
}
