package node

import (
	"sync"

	"github.com/drossel-dev/drossel/node/ownership"
	"github.com/drossel-dev/drossel/transport"
)

// words are the messages of ownership that wait to be sent to one peer. They may be lost: those for a peer that can't be
// reached are, and the oldest of too many.
type words struct {
	mu      sync.Mutex
	waiting [][]byte
	spare   [][]byte
}

// maxWords bounds what waits.
const maxWords = 4096

// post hands messages to the links of those they are for.
func (n *Node) post(send []ownership.Envelope) {
	if len(send) == 0 {
		return
	}
	ways := *n.ways.Load()
	for _, e := range send {
		if l := ways[e.To]; l != nil {
			l.say(e.Message)
		}
	}
}

// say has a message sent, if the peer is connected.
func (l *link) say(msg ownership.Message) {
	if !l.isUp() {
		return
	}
	w := &l.words
	w.mu.Lock()
	var b []byte
	if n := len(w.spare); n > 0 {
		b, w.spare = w.spare[n-1][:0], w.spare[:n-1]
	}
	if len(w.waiting) == maxWords {
		w.waiting = append(w.waiting[:0], w.waiting[1:]...)
	}
	w.waiting = append(w.waiting, ownership.Append(b, msg))
	w.mu.Unlock()
	l.signal()
}

// sendWords sends what waits.
func (l *link) sendWords(s transport.Stream, frame []byte) (_ []byte, sent bool, err error) {
	w := &l.words
	w.mu.Lock()
	waiting := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	for _, word := range waiting {
		frame = transport.AppendWord(frame[:0], word)
		if err = s.Send(frame); err != nil {
			return frame, true, err
		}
		l.node.counters.wordBytes.Add(uint64(len(frame)))
	}
	if len(waiting) == 0 {
		return frame, false, nil
	}
	l.node.counters.words.Add(uint64(len(waiting)))
	w.mu.Lock()
	w.spare = waiting[:min(len(waiting), 8)]
	if w.waiting == nil {
		w.waiting = make([][]byte, 0, 8)
	}
	w.mu.Unlock()
	return frame, true, nil
}
