package sim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
)

// groupDisk is what a node has on disk of groups, and its next process finds.
type groupDisk struct {
	mu      sync.Mutex
	batches []node.Batch
	roster  []string
	full    bool // or the process is dead, and writes nothing more
}

var errDiskFull = errors.New("no space left on device")

func (d *groupDisk) Batches(do func(node.Batch) error) error {
	d.mu.Lock()
	all := slices.Clone(d.batches)
	d.mu.Unlock()
	for _, b := range all {
		if err := do(b); err != nil {
			return err
		}
	}
	return nil
}

func (d *groupDisk) KeepBatches(some []node.Batch) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return false, errDiskFull
	}
	d.batches = append(d.batches, some...)
	return len(d.batches) > 500, nil
}

func (d *groupDisk) KeepAllBatches(all iter.Seq[node.Batch]) error {
	some := slices.Collect(all)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return errDiskFull
	}
	d.batches = some
	return nil
}

func (d *groupDisk) Roster() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.roster, nil
}

func (d *groupDisk) KeepRoster(members []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return errDiskFull
	}
	d.roster = members
	return nil
}

func (d *groupDisk) fill(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// lives is a cluster with disks that all nodes of end, and start again.
type lives struct {
	*fleet
	disks  map[string]*groupDisk
	expect int
}

const durableYAML = `
version: 1
policies:
  month: {key: [k], limits: [{quota: 1000/month}]}
  hour: {key: [k], limits: [{rate: 1000/h}]}
  log: {key: [k], limits: [{rate: 500/h, algorithm: sliding_window}]}
  first: {key: [k], limits: [{rate: 1000/2h, algorithm: first_hit_window}]}
  said: {key: [k], limits: [{rate: 60/min, burst: 1000, durable: true}]}
  short: {key: [k], limits: [{rate: 1000/min}]}
`

func newLives(t *testing.T, seed uint64) *lives {
	t.Helper()
	set, err := policy.Parse("limits.yaml", []byte(durableYAML))
	if err != nil {
		t.Fatal(err)
	}
	l := &lives{disks: map[string]*groupDisk{}}
	l.fleet = newFleet(t, seed, nil, func(c *node.Config) {
		c.Policies, c.PolicySource = set, node.Source{}
		if l.disks[c.Name] == nil {
			l.disks[c.Name] = new(groupDisk)
		}
		c.Groups, c.Expect = l.disks[c.Name], l.expect
	})
	return l
}

// begin starts nodes, all at the same time.
func (l *lives) begin(names ...string) {
	l.t.Helper()
	l.expect = len(names)
	l.mu.Lock()
	clear(l.nodes)
	l.mu.Unlock()
	for _, name := range names {
		if l.disks[name] == nil {
			l.disks[name] = new(groupDisk)
		}
	}
	var starting sync.WaitGroup
	for _, name := range names {
		starting.Go(func() { l.start(name) })
		time.Sleep(10 * time.Millisecond)
	}
	starting.Wait()
}

func (l *lives) ask(name, policyName, key string, cost int64) policy.Decision {
	l.t.Helper()
	d, err := l.get(name).Check(context.Background(), policy.Request{
		Policy: policyName, Key: key, Cost: cost, CheckOnly: cost == 0,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return d
}

// kill ends all nodes without a word, at the same moment.
func (l *lives) kill() {
	for _, d := range l.disks {
		d.fill(true)
	}
	for _, m := range l.living() {
		l.crash(m.name)
	}
	for _, d := range l.disks {
		d.fill(false)
	}
}

var durablePolicies = []string{"month", "hour", "log", "first", "said"}

// spend takes tokens of keys of all policies at any nodes, and returns what of each was admitted.
func (l *lives) spend(r *rand.Rand, checks int) map[string]int64 {
	admitted := map[string]int64{}
	living := l.living()
	for range checks {
		p, key, cost := durablePolicies[r.IntN(len(durablePolicies))], fmt.Sprint("k", r.IntN(20)), 1+r.Int64N(3)
		if d := l.ask(living[r.IntN(len(living))].name, p, key, cost); d.Allowed && !d.Degraded {
			admitted[p+"/"+key] += cost
		}
		time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
	}
	return admitted
}

// TestWholeRestart: all nodes end, politely one after the other or all at once, and start again in another order, with the disk of one of them
// lost. Nothing is forgotten that was taken of durable limits before the last write, and of what was taken since no more is admitted twice.
func TestWholeRestart(t *testing.T) {
	for _, how := range []string{"SIGTERM", "SIGKILL"} {
		for lost := range 4 {
			t.Run(fmt.Sprint(how, " ", lost), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l, r := newLives(t, uint64(lost)), rand.New(rand.NewPCG(uint64(lost), 1))
					l.begin("n1", "n2", "n3")
					before := l.spend(r, 400)
					time.Sleep(time.Second) // all is written
					var since map[string]int64
					if how == "SIGTERM" {
						for _, name := range []string{"n2", "n1", "n3"} {
							l.leave(name)
						}
					} else {
						since = l.spend(r, 40)
						l.kill()
					}
					if lost > 0 {
						delete(l.disks, fmt.Sprint("n", lost))
					}
					time.Sleep(3 * time.Second)
					began := time.Now()
					l.begin("n3", "n1", "n2")
					took := time.Since(began)
					for id, taken := range before {
						p, key, _ := strings.Cut(id, "/")
						d := l.ask("n2", p, key, 0)
						flowed := int64(0)
						switch p {
						case "hour":
							flowed = 1 + int64(time.Since(l.began)/(3600*time.Millisecond))
						case "said":
							flowed = 1 + int64(time.Since(l.began)/time.Second)
						}
						left := d.Limit - taken
						if d.Remaining > min(left+flowed, d.Limit) || d.Remaining < left-since[id]-flowed || d.Degraded {
							t.Errorf("%s: %d of %d are left, want %d (less up to %d of the last moments)", id, d.Remaining, d.Limit, left, since[id])
						}
					}
					t.Logf("%d groups were restored; the nodes took checks after %v", len(before), took)
				})
			})
		}
	}
}

var manyLives = flag.Int("lives", 10, "how many clusters TestManyLives has end and start again")

// TestManyLives: clusters that end again and again, in either way, each time with the disk of a node lost, or with a node that stays away for a
// life and comes back with what it had then. What counts as taken is never less than what was written, and never more than what was taken.
func TestManyLives(t *testing.T) {
	for seed := range uint64(*manyLives) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, r := newLives(t, seed), rand.New(rand.NewPCG(seed, 3))
				names := []string{"n1", "n2", "n3"}
				l.begin(names...)
				story, taken, away := "", map[string]int64{}, ""
				for life := range 6 {
					add := func(some map[string]int64) {
						for id, n := range some {
							taken[id] += n
						}
					}
					add(l.spend(r, 60))
					time.Sleep(1100 * time.Millisecond)
					since := map[string]int64{}
					if r.IntN(2) == 0 {
						story += " SIGTERM"
						for _, i := range r.Perm(len(l.living())) {
							l.leave(l.those(func(m *member) bool { return !m.ended })[min(i, len(l.living())-1)].name)
						}
					} else {
						story += " SIGKILL"
						since = l.spend(r, 10)
						add(since)
						l.kill()
					}
					run := slices.Clone(names)
					switch before := away; r.IntN(3) {
					case 0:
						if away = ""; before == "" { // else two disks would not be there
							lost := names[r.IntN(3)]
							delete(l.disks, lost)
							story += ", the disk of " + lost + " is lost;"
						}
					case 1:
						if away == "" {
							away = names[r.IntN(3)]
						}
						run = slices.DeleteFunc(run, func(name string) bool { return name == away })
						story += ", " + away + " stays away;"
					default:
						away = ""
					}
					time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
					r.Shuffle(len(run), func(i, j int) { run[i], run[j] = run[j], run[i] })
					l.begin(run...)
					for id, all := range taken {
						p, key, _ := strings.Cut(id, "/")
						if p != "month" {
							continue
						}
						d := l.ask(run[0], p, key, 0)
						for wait := 0; d.Degraded && wait < 10; wait++ { // for a node that is a part of a majority, and stays away
							time.Sleep(time.Second)
							d = l.ask(run[0], p, key, 0)
						}
						is := 1000 - d.Remaining
						if is > all || is < all-since[id] {
							t.Fatalf("life %d (%s): %d of %s count as taken, want %d, less up to %d of the last moments", life, story, is, id, all, since[id])
						}
						taken[id] = is
					}
				}
			})
		})
	}
}

// TestBackAlone: one of three comes back, and nobody else. It says what it waits for, and goes on after a while with what it has.
func TestBackAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLives(t, 9)
		l.begin("n1", "n2", "n3")
		for i := range 60 {
			l.ask("n1", "month", fmt.Sprint("k", i), 5)
		}
		time.Sleep(time.Second)
		l.kill()
		time.Sleep(time.Second)
		l.begin("n2")
		began := time.Now()
		if s := l.get("n2").Status(); !strings.Contains(s.Waits, "what is on their disks") {
			t.Errorf("it waits for %q", s.Waits)
		}
		for l.get("n2").Status().Waits != "" {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it went on after %v, want the join timeout, 5 s", took)
		}
		known := 0
		for i := range 60 { // those that it held, or had copies of
			if d := l.ask("n2", "month", fmt.Sprint("k", i), 0); d.Remaining == 995 && !d.Degraded {
				known++
			} else if d.Remaining != 1000 {
				t.Errorf("%+v", d)
			}
		}
		if known < 20 || known > 55 {
			t.Errorf("%d of 60 keys are known on one disk of three, want about 40", known)
		}
	})
}

// TestRestartOfSome: two of three nodes end, of which some partitions had no copy elsewhere, and come back while the third lives.
func TestRestartOfSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := newLives(t, 5), rand.New(rand.NewPCG(5, 1))
		l.begin("n1", "n2", "n3")
		before := l.spend(r, 400)
		time.Sleep(time.Second)
		for _, name := range []string{"n1", "n2"} {
			l.disks[name].fill(true)
		}
		l.crash("n1")
		l.crash("n2")
		time.Sleep(2 * time.Second)
		l.disks["n1"].fill(false)
		l.disks["n2"].fill(false)
		var starting sync.WaitGroup
		for _, name := range []string{"n2", "n1"} {
			starting.Go(func() { l.start(name) })
		}
		starting.Wait()
		time.Sleep(5 * time.Second)
		for id, taken := range before {
			p, key, _ := strings.Cut(id, "/")
			d := l.ask("n3", p, key, 0)
			if p == "month" && (d.Remaining != d.Limit-taken || d.Degraded) {
				t.Errorf("%s: %+v, want %d left", id, d, d.Limit-taken)
			}
		}
	})
}

// TestFullDisk: where nothing can be written checks go on, and when something can again all is.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLives(t, 6)
		l.begin("n1", "n2", "n3")
		for _, d := range l.disks {
			d.fill(true)
		}
		for i := range 30 {
			if d := l.ask(fmt.Sprint("n", 1+i%3), "month", "k", 1); !d.Allowed || d.Degraded {
				t.Fatalf("check %d: %+v", i, d)
			}
			time.Sleep(100 * time.Millisecond)
		}
		for _, d := range l.disks {
			d.fill(false)
		}
		time.Sleep(12 * time.Second)
		l.kill()
		time.Sleep(time.Second)
		l.begin("n1", "n2", "n3")
		if d := l.ask("n1", "month", "k", 0); d.Remaining != 970 {
			t.Errorf("%+v, want 970 left", d)
		}
	})
}
