package mem_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
)

// A cut holds what goes one way; the other way stays open. What waited arrives in order when the cut heals.
func TestCutHoldsOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &mem.Network{}
		there, back := make(chan uint64, 100), make(chan uint64, 100)
		a := listen(t, n, "a", forward(back))
		b := listen(t, n, "b", forward(there))
		ab, ba := dial(t, a, "b"), dial(t, b, "a")
		send(t, ab.Checks(), 0)
		synctest.Wait()

		n.Cut("a", "b")
		for i := range uint64(10) {
			send(t, ab.Checks(), i+1)
			send(t, ba.Checks(), i)
		}
		synctest.Wait()
		if len(there) != 1 || len(back) != 10 {
			t.Fatalf("%d frames crossed the cut and %d the open way, want 1 and 10", len(there), len(back))
		}
		n.Cut("a", "b") // cutting twice needs healing once
		n.Heal("b", "a")
		synctest.Wait()
		if len(there) != 1 {
			t.Fatal("healing the other way let frames through")
		}

		n.Heal("a", "b")
		send(t, ab.Checks(), 11)
		synctest.Wait()
		if got := drain(there); !slices.Equal(got, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
			t.Errorf("arrived: %v", got)
		}
		n.Heal("a", "b") // and healing what is whole is nothing
		send(t, ab.Checks(), 12)
		synctest.Wait()
		if got := drain(there); !slices.Equal(got, []uint64{12}) {
			t.Errorf("after a second heal: %v", got)
		}
	})
}

func drain(c <-chan uint64) (got []uint64) {
	for len(c) > 0 {
		got = append(got, <-c)
	}
	return got
}

// The answers of a connection wait too, when the way back is cut.
func TestCutHoldsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &mem.Network{}
		a := listen(t, n, "a", echo)
		listen(t, n, "b", echo)
		p := dial(t, a, "b")
		n.Cut("b", "a")
		answers := make(chan uint64, 10)
		go func() {
			for {
				frame, err := p.Checks().Recv()
				if err != nil {
					return
				}
				answers <- uint64(len(frame))
			}
		}()
		send(t, p.Checks(), 1)
		synctest.Wait()
		if len(answers) != 0 {
			t.Error("an answer crossed the cut")
		}
		n.Heal("b", "a")
		synctest.Wait()
		if len(answers) != 1 {
			t.Error("the answer did not arrive when the cut healed")
		}
	})
}

// A dial blocks while either way is cut: until that heals, or its context ends.
func TestCutBlocksDial(t *testing.T) {
	for _, way := range [][2]string{{"a", "b"}, {"b", "a"}} {
		synctest.Test(t, func(t *testing.T) {
			n := &mem.Network{}
			a := listen(t, n, "a", echo)
			listen(t, n, "b", echo)
			n.Cut(way[0], way[1])

			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			begun := time.Now()
			if _, err := a.Dial(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want DeadlineExceeded", err)
			}
			if took := time.Since(begun); took != 3*time.Second {
				t.Errorf("gave up after %v, want 3s", took)
			}

			dialed := make(chan error, 1)
			go func() {
				_, err := a.Dial(t.Context(), "b")
				dialed <- err
			}()
			synctest.Wait()
			if len(dialed) != 0 {
				t.Fatal("dialed across a cut")
			}
			n.Heal(way[0], way[1])
			if err := <-dialed; err != nil {
				t.Error(err)
			}
		})
	}
}

// A handshake that a cut interrupts ends with its context.
func TestCutDuringDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &mem.Network{After: after, Delay: func(_, _ string) time.Duration { return 100 * time.Millisecond }}
		a := listen(t, n, "a", echo)
		listen(t, n, "b", echo)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.AfterFunc(150*time.Millisecond, func() { n.Cut("b", "a") })
		begun := time.Now()
		if p, err := a.Dial(ctx, "b"); err == nil {
			p.Close()
			t.Error("dialed though no answer came")
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("took %v, want the second of the context", took)
		}
	})
}

// Closing a connection ends both sides though a cut holds frames.
func TestCloseAcrossACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &mem.Network{}
		ended := make(chan struct{}, 2)
		a := listen(t, n, "a", echo)
		listen(t, n, "b", func(_ transport.Kind, s transport.Stream) error {
			_, err := s.Recv()
			ended <- struct{}{}
			return err
		})
		p := dial(t, a, "b")
		n.Cut("a", "b")
		send(t, p.Checks(), 1)
		p.Close()
		<-ended
		<-ended
		n.Heal("a", "b")
	})
}

// Random delays, cuts and heals while frames are under way: all arrive, in order.
func TestCutsAndDelaysKeepOrder(t *testing.T) {
	const frames = 300
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			below := func(n int) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(random.IntN(n))
			}
			delay := func(_, _ string) time.Duration { return below(20) * time.Millisecond }
			n := &mem.Network{After: after, Delay: delay}
			got := make(chan uint64, frames)
			a := listen(t, n, "a", echo)
			listen(t, n, "b", forward(got))
			p := dial(t, a, "b")
			for i := range uint64(frames) {
				switch below(10) {
				case 0:
					n.Cut("a", "b")
				case 1:
					n.Heal("a", "b")
				}
				send(t, p.Checks(), i)
				<-time.After(below(5) * time.Millisecond)
			}
			n.Heal("a", "b")
			for want := range uint64(frames) {
				if n := <-got; n != want {
					t.Fatalf("seed %d: frame %d arrived where %d was due", seed, n, want)
				}
			}
		})
	}
}

// A frame that arrives at a cut in the very moment it heals is not forgotten: it would wait for the next heal.
func TestHealWhileArriving(t *testing.T) {
	n := &mem.Network{}
	got := make(chan uint64, 1)
	a := listen(t, n, "a", echo)
	listen(t, n, "b", forward(got))
	p := dial(t, a, "b")
	frame := number(0)
	for i := range 50_000 {
		n.Cut("a", "b")
		healed := make(chan struct{})
		go func() {
			n.Heal("a", "b")
			close(healed)
		}()
		if err := p.Checks().Send(frame); err != nil {
			t.Fatal(err)
		}
		<-healed
		select {
		case <-got:
		case <-time.After(10 * time.Second):
			t.Fatalf("round %d: the frame has not arrived though nothing is cut", i)
		}
	}
}
