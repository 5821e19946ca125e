package sim

import (
	"fmt"
	"sync"

	"github.com/drossel-dev/drossel/transport"
)

// asking is a stream of checks at the end of the node that asks.
type asking struct {
	transport.Stream
	tap      *tap
	way      way
	fate     *fate
	sending  sync.Mutex // late requests are sent by timers
	checks   transport.ChecksFrame
	requests transport.LeasesFrame
}

func (s *asking) Send(frame []byte) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if transport.IsLeases(frame) {
		return s.sendRequests(frame)
	}
	if err := transport.DecodeChecks(frame, &s.checks); err != nil {
		return fmt.Errorf("a node sent what is neither checks nor lease requests: %w", err)
	}
	s.tap.count(s.checks.Checks)
	return s.Stream.Send(frame)
}

// sendRequests sends what is not lost or late. The limits in the frame always arrive, for checks rely on them.
func (s *asking) sendRequests(frame []byte) error {
	if err := transport.DecodeLeases(frame, &s.requests); err != nil {
		return err
	}
	s.tap.told(s.way, len(s.requests.Requests))
	now := sift(s.fate, s.requests.Requests, func(r transport.LeaseRequest) {
		s.sending.Lock()
		defer s.sending.Unlock()
		// The stream may have ended by now; then the request is lost.
		_ = s.Stream.Send(transport.AppendLeases(nil, &transport.LeasesFrame{Requests: []transport.LeaseRequest{r}}))
	})
	if len(now) == len(s.requests.Requests) {
		return s.Stream.Send(frame)
	}
	if len(now) == 0 && len(s.requests.Limits) == 0 {
		return nil
	}
	return s.Stream.Send(transport.AppendLeases(nil, &transport.LeasesFrame{Limits: s.requests.Limits, Requests: now}))
}

// answering is a stream of checks at the end of the node that owns them.
type answering struct {
	transport.Stream
	tap         *tap
	fate        *fate
	owner, from string

	sending sync.Mutex // late grants are sent by timers
	answers transport.AnswersFrame
	grants  transport.GrantsFrame

	asking sync.Mutex // a check that was passed on is answered while others are received
	asked  map[uint64]transport.Check
	checks transport.ChecksFrame
}

func (s *answering) Recv() ([]byte, error) {
	frame, err := s.Stream.Recv()
	if err != nil || transport.IsLeases(frame) {
		return frame, err
	}
	if err := transport.DecodeChecks(frame, &s.checks); err != nil {
		return nil, err
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	for _, c := range s.checks.Checks {
		s.asked[c.Number] = c
	}
	return frame, nil
}

func (s *answering) Send(frame []byte) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if transport.IsGrants(frame) {
		return s.sendGrants(frame)
	}
	if err := transport.DecodeAnswers(frame, &s.answers); err != nil {
		return fmt.Errorf("a node sent what is neither answers nor grants: %w", err)
	}
	for i := range s.answers.Answers {
		a := &s.answers.Answers[i]
		s.asking.Lock()
		c := s.asked[a.Number]
		delete(s.asked, a.Number)
		s.asking.Unlock()
		// Whom a check was passed on to has counted it.
		if a.Status != transport.Decided || a.By != "" || c.Look {
			continue
		}
		if g := s.tap.cluster.groupOf(c.ID); a.Decision.Allowed {
			s.tap.cluster.admitted(g, s.from, s.owner, c.Cost, 0)
		} else {
			s.tap.cluster.denied(g, c.Cost)
		}
	}
	return s.Stream.Send(frame)
}

func (s *answering) sendGrants(frame []byte) error {
	if err := transport.DecodeGrants(frame, &s.grants); err != nil {
		return err
	}
	now := sift(s.fate, s.grants.Grants, func(g transport.Grant) {
		s.sending.Lock()
		defer s.sending.Unlock()
		// The stream may have ended by now; then the grant is lost.
		_ = s.Stream.Send(transport.AppendGrants(nil, &transport.GrantsFrame{Grants: []transport.Grant{g}}))
	})
	switch len(now) {
	case len(s.grants.Grants):
		return s.Stream.Send(frame)
	case 0:
		return nil
	}
	return s.Stream.Send(transport.AppendGrants(nil, &transport.GrantsFrame{Grants: now}))
}
