// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build zmq

package system

import (
	"fmt"
	"sync"

	"github.com/pebbe/zmq4"
)

// zeromqSystems is ZeroMQ, from libzmq: PUB and SUB, REQ sockets and a ROUTER.
// PUB drops what its high-water mark has no room for, so that is well above the
// credit window.
func zeromqSystems() []System {
	return []System{{
		Name: "zeromq", About: "PUB/SUB, plain TCP, no broker, high-water marks above the credit window; a REQ socket for each request under way, a ROUTER that answers",
		Credit: true, Topics: true, Requests: true,
		Version: func() string {
			major, minor, patch := zmq4.Version()
			return fmt.Sprintf("%d.%d.%d", major, minor, patch)
		},
		Join: joinZeroMQ,
	}}
}

func joinZeroMQ(setup Setup) (Seat, error) { return &zeromqSeat{setup: setup}, nil }

type zeromqSeat struct {
	setup Setup
	addr  string
}

func (s *zeromqSeat) Addr() string { return s.addr }

// Close leaves the sockets to the end of the process: another goroutine is in
// them, and they are for one thread at a time.
func (s *zeromqSeat) Close() error { return nil }

// open makes a socket, which listens or dials.
func (s *zeromqSeat) open(kind zmq4.Type) (*zmq4.Socket, error) {
	socket, err := zmq4.NewSocket(kind)
	if err != nil {
		return nil, err
	}
	if s.setup.Window > 0 {
		if err := socket.SetSndhwm(2 * s.setup.Window); err != nil {
			return nil, err
		}
		if err := socket.SetRcvhwm(2 * s.setup.Window); err != nil {
			return nil, err
		}
	}
	if s.setup.Listens {
		if err := socket.Bind("tcp://127.0.0.1:*"); err != nil {
			return nil, err
		}
		s.addr, err = socket.GetLastEndpoint()
		return socket, err
	}
	if kind == zmq4.SUB {
		if err := socket.SetSubscribe(""); err != nil {
			return nil, err
		}
	}
	for _, peer := range s.setup.Peers {
		if err := socket.Connect(peer); err != nil {
			return nil, err
		}
	}
	return socket, nil
}

func (s *zeromqSeat) Publisher() (Publisher, error) {
	socket, err := s.open(zmq4.PUB)
	return zeromqPublisher{socket}, err
}

type zeromqPublisher struct{ socket *zmq4.Socket }

func (p zeromqPublisher) Publish(body []byte) error {
	_, err := p.socket.SendBytes(body, 0)
	return err
}

func (p zeromqPublisher) Flush() error { return nil }

func (s *zeromqSeat) Subscribe(each func(body []byte)) (Subscription, error) {
	socket, err := s.open(zmq4.SUB)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			body, err := socket.RecvBytes(0)
			if err == nil {
				each(body)
			} else if zmq4.AsErrno(err) == zmq4.ETERM {
				return
			}
		}
	}()
	return silent{}, nil
}

// zeromqSockets is how many a process may have: a requester of many connections
// needs more than the 1,023 that libzmq allows by default.
const zeromqSockets = 8192

func (s *zeromqSeat) Requester() (Requester, error) {
	r := &zeromqRequester{seat: s, places: make(chan struct{}, max(s.setup.InFlight, 1))}
	return r, zmq4.SetMaxSockets(zeromqSockets)
}

// zeromqRequester has a socket for each request under way: as many as there ever
// were at once.
type zeromqRequester struct {
	seat   *zeromqSeat
	places chan struct{}

	mu   sync.Mutex
	free []*zmq4.Socket
}

func (r *zeromqRequester) Request(body []byte) ([]byte, error) {
	r.places <- struct{}{}
	defer func() { <-r.places }()
	socket, err := r.take()
	if err != nil {
		return nil, err
	}
	if _, err := socket.SendBytes(body, 0); err != nil {
		return nil, err
	}
	reply, err := socket.RecvBytes(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, socket)
	return reply, err
}

func (r *zeromqRequester) take() (*zmq4.Socket, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.free); n > 0 {
		socket := r.free[n-1]
		r.free = r.free[:n-1]
		return socket, nil
	}
	return r.seat.open(zmq4.REQ)
}

func (s *zeromqSeat) Respond(handle func(body []byte) []byte, handlers int) error {
	if handlers > 1 {
		return ErrNotOffered
	}
	socket, err := s.open(zmq4.ROUTER)
	if err != nil {
		return err
	}
	go func() {
		for {
			parts, err := socket.RecvMessageBytes(0)
			if err != nil || len(parts) != 3 {
				continue
			}
			if _, err := socket.SendMessage(parts[0], parts[1], handle(parts[2])); err != nil {
				return
			}
		}
	}()
	return nil
}
