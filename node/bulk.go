package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/drossel-dev/drossel/transport"
)

// bulkLink makes calls on the bulk stream of a link, and matches the replies. The zero value has no stream.
type bulkLink struct {
	mu      sync.Mutex
	stream  transport.Stream // nil while not connected
	number  uint64
	waiting map[uint64]chan bulkReply

	sending sync.Mutex
}

type bulkReply struct {
	body []byte
	err  error
}

// errNotConnected is why a call on a link fails at once.
var errNotConnected = errors.New("not connected")

func (b *bulkLink) open(s transport.Stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stream = s
	b.waiting = make(map[uint64]chan bulkReply)
}

// fail ends what waits, because the connection ended.
func (b *bulkLink) fail() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stream = nil
	for number, done := range b.waiting {
		delete(b.waiting, number)
		done <- bulkReply{err: errNotConnected}
	}
}

// call asks the other node and waits for its reply, until ctx ends.
func (b *bulkLink) call(ctx context.Context, m transport.Method, body []byte) ([]byte, error) {
	b.mu.Lock()
	s := b.stream
	if s == nil {
		b.mu.Unlock()
		return nil, errNotConnected
	}
	b.number++
	number, done := b.number, make(chan bulkReply, 1)
	b.waiting[number] = done
	b.mu.Unlock()

	b.sending.Lock()
	err := s.Send(transport.AppendCall(nil, transport.Call{Number: number, Method: m, Body: body}))
	b.sending.Unlock()
	if err != nil {
		return nil, err // fail has taken or will take the entry
	}
	select {
	case r := <-done:
		return r.body, r.err
	case <-ctx.Done():
		b.mu.Lock()
		delete(b.waiting, number)
		b.mu.Unlock()
		return nil, ctx.Err()
	}
}

// maxReplyBytes bounds a whole reply in memory.
const maxReplyBytes = 64 << 20

// receive puts replies together until the stream ends.
func (b *bulkLink) receive(s transport.Stream) error {
	parts := make(map[uint64][]byte)
	for {
		frame, err := s.Recv()
		if err != nil {
			return err
		}
		r, err := transport.DecodeReply(frame)
		if err != nil {
			return err
		}
		body := append(parts[r.Number], r.Body...)
		if len(body) > maxReplyBytes {
			return fmt.Errorf("%w: a reply of more than %d bytes", transport.ErrFrame, maxReplyBytes)
		}
		if r.More {
			parts[r.Number] = body
			continue
		}
		delete(parts, r.Number)
		reply := bulkReply{body: body}
		if r.Failed {
			reply = bulkReply{err: errors.New(string(body))}
		}
		b.mu.Lock()
		if done := b.waiting[r.Number]; done != nil {
			delete(b.waiting, r.Number)
			done <- reply
		}
		b.mu.Unlock()
	}
}

// serveBulk answers the calls of another node until its stream ends.
func (n *Node) serveBulk(from transport.Hello, s transport.Stream) error {
	var sending sync.Mutex
	answer := func(c transport.Call) error {
		r := n.answerCall(from, c)
		sending.Lock()
		defer sending.Unlock()
		return reply(s, c.Number, r)
	}
	var beside sync.WaitGroup // calls that wait for the disk
	defer beside.Wait()
	places := make(chan struct{}, maxBeside)
	for {
		frame, err := s.Recv()
		if err != nil {
			return err
		}
		c, err := transport.DecodeCall(frame)
		if err != nil {
			return err
		}
		if c.Method != transport.SetEntries && c.Method != transport.GetSaved {
			if err := answer(c); err != nil {
				return err
			}
			continue
		}
		select {
		case places <- struct{}{}:
		default: // too many: nobody may fill the memory with what waits
			sending.Lock()
			err := reply(s, c.Number, bulkReply{err: errBusy})
			sending.Unlock()
			if err != nil {
				return err
			}
			continue
		}
		c.Body = bytes.Clone(c.Body)
		beside.Go(func() {
			answer(c) // it fails if the stream has ended, which the loop finds out as well
			<-places
		})
	}
}

// maxBeside is how many calls of a peer may wait for the disk.
const maxBeside = 64

var errBusy = errors.New("too many calls wait for the disk")

func (n *Node) answerCall(from transport.Hello, c transport.Call) bulkReply {
	var v any
	switch c.Method {
	case transport.PutGroups, transport.GetGroups, transport.Forget, transport.Settle:
		body, err := n.govern(from, c)
		return bulkReply{body, err}
	case transport.SetEntries:
		body, err := n.takeCall(c.Body)
		return bulkReply{body, err}
	case transport.GetEntries:
		body, err := n.giveCall(c.Body)
		return bulkReply{body, err}
	case transport.GetSaved:
		body, err := n.giveSaved(c.Body)
		return bulkReply{body, err}
	case transport.CompareEditions:
		body, err := n.compared(from, c.Body)
		return bulkReply{body, err}
	case transport.GetEdition:
		e := n.editions.newest.Load()
		if e == nil {
			return bulkReply{err: ErrNoEdition}
		}
		v = e
	case transport.AskStatus:
		v = n.Status()
	case transport.AskLeases:
		v = n.ownLeases()
	default:
		return bulkReply{err: fmt.Errorf("this node does not know call %d; it may be of an older version", c.Method)}
	}
	body, err := json.Marshal(v)
	return bulkReply{body, err}
}

var errFixed = errors.New("this node's members never change: it has nothing to do with ownership")

// govern answers a call about ownership.
func (n *Node) govern(from transport.Hello, c transport.Call) ([]byte, error) {
	g := n.governor
	if g == nil {
		return nil, errFixed
	}
	switch c.Method {
	case transport.PutGroups:
		return g.takeGroups(from.ID, c.Body)
	case transport.GetGroups:
		return g.giveGroups(from, c.Body)
	case transport.Settle:
		return g.settleBills(from, c.Body)
	}
	return nil, n.ForgetMember(string(c.Body))
}

// reply sends a reply in as many frames as it takes.
func reply(s transport.Stream, number uint64, r bulkReply) error {
	p := transport.Reply{Number: number, Failed: r.err != nil}
	rest := r.body
	if r.err != nil {
		rest = []byte(r.err.Error())
	}
	for {
		p.Body = rest[:min(len(rest), transport.MaxReplyBody)]
		rest = rest[len(p.Body):]
		p.More = len(rest) > 0
		if err := s.Send(transport.AppendReply(nil, p)); err != nil || !p.More {
			return err
		}
	}
}
