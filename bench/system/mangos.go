// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"go.nanomsg.org/mangos/v3"
	"go.nanomsg.org/mangos/v3/protocol/pub"
	"go.nanomsg.org/mangos/v3/protocol/rep"
	"go.nanomsg.org/mangos/v3/protocol/req"
	"go.nanomsg.org/mangos/v3/protocol/sub"
	_ "go.nanomsg.org/mangos/v3/transport/tcp" // registers tcp://
)

// mangosSystems is mangos, the scalability protocols of NNG in Go: PUB and SUB,
// REQ and REP. PUB drops what its queue has no room for, so queues are well
// above the credit window.
func mangosSystems() []System {
	return []System{{
		Name: "mangos", About: "PUB/SUB and REQ/REP, plain TCP, no broker; queues above the credit window",
		Credit: true, Topics: true, Requests: true, Balances: true,
		Version: func() string { return moduleVersion("go.nanomsg.org/mangos/v3") },
		Join:    func(setup Setup) (Seat, error) { return &mangosSeat{setup: setup}, nil },
	}}
}

type mangosSeat struct {
	setup  Setup
	addr   string
	socket mangos.Socket
}

func (s *mangosSeat) Addr() string { return s.addr }

func (s *mangosSeat) Close() error {
	if s.socket == nil {
		return nil
	}
	return s.socket.Close()
}

// open makes the seat's socket, which listens or dials.
func (s *mangosSeat) open(socket mangos.Socket, err error, queue string) error {
	if err != nil {
		return err
	}
	s.socket = socket
	if queue != "" && s.setup.Window > 0 {
		// A subscriber has one queue for all publishers, each with a window.
		if err := socket.SetOption(queue, 2*s.setup.Window*max(len(s.setup.Peers), 1)); err != nil {
			return err
		}
	}
	if s.setup.Listens {
		l, err := socket.NewListener("tcp://127.0.0.1:0", nil)
		if err != nil {
			return err
		}
		if err := l.Listen(); err != nil {
			return err
		}
		s.addr = l.Address()
		return nil
	}
	for _, peer := range s.setup.Peers {
		if err := socket.Dial(peer); err != nil {
			return err
		}
	}
	return nil
}

func (s *mangosSeat) Publisher() (Publisher, error) {
	socket, err := pub.NewSocket()
	return mangosPublisher{s}, s.open(socket, err, mangos.OptionWriteQLen)
}

type mangosPublisher struct{ *mangosSeat }

func (p mangosPublisher) Publish(body []byte) error { return p.socket.Send(body) }
func (p mangosPublisher) Flush() error              { return nil }

func (s *mangosSeat) Subscribe(each func(body []byte)) (Subscription, error) {
	socket, err := sub.NewSocket()
	if err := s.open(socket, err, mangos.OptionReadQLen); err != nil {
		return nil, err
	}
	if err := socket.SetOption(mangos.OptionSubscribe, []byte{}); err != nil {
		return nil, err
	}
	go func() {
		for {
			m, err := socket.RecvMsg()
			if err != nil {
				return
			}
			each(m.Body)
			m.Free()
		}
	}()
	return silent{}, nil
}

func (s *mangosSeat) Requester() (Requester, error) {
	socket, err := req.NewSocket()
	if err := s.open(socket, err, ""); err != nil {
		return nil, err
	}
	contexts := make(chan mangos.Context, max(s.setup.InFlight, 1))
	for range cap(contexts) {
		c, err := socket.OpenContext()
		if err != nil {
			return nil, err
		}
		contexts <- c
	}
	return mangosRequester{contexts}, nil
}

// mangosRequester has a context for each request under way.
type mangosRequester struct{ contexts chan mangos.Context }

func (r mangosRequester) Request(body []byte) ([]byte, error) {
	c := <-r.contexts
	defer func() { r.contexts <- c }()
	if err := c.Send(body); err != nil {
		return nil, err
	}
	return c.Recv()
}

func (s *mangosSeat) Respond(handle func(body []byte) []byte, handlers int) error {
	socket, err := rep.NewSocket()
	if err := s.open(socket, err, ""); err != nil {
		return err
	}
	for range max(handlers, 1) {
		c, err := socket.OpenContext()
		if err != nil {
			return err
		}
		go func() {
			for {
				body, err := c.Recv()
				if err != nil || c.Send(handle(body)) != nil {
					return
				}
			}
		}()
	}
	return nil
}
