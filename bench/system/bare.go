// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// bareSystems are the limits: frames over one connection, with nothing above
// it. A topic is one copy to each connection.
func bareSystems() []System {
	plain := System{
		Name: "tcp", About: "limit: frames over bare TCP", Topics: true, Requests: true,
		Version: runtime.Version, Join: joinBare(plainConns{}),
	}
	secure := plain
	secure.Name, secure.About = "tls", "limit: frames over bare TLS 1.3 (crypto/tls)"
	secure.Start = func(site Site) ([]string, error) { return nil, writeCertificate(site.Dir()) }
	secure.Join = func(setup Setup) (Seat, error) {
		conns, err := newSecureConns(setup.Dir)
		if err != nil {
			return nil, err
		}
		return joinBare(conns)(setup)
	}
	return []System{plain, secure}
}

// conns makes connections of one kind.
type conns interface {
	// listen calls each with every connection that comes, and returns where.
	listen(each func(io.ReadWriteCloser)) (addr string, err error)
	dial(addr string) (io.ReadWriteCloser, error)
	close() error
}

func joinBare(kind conns) func(Setup) (Seat, error) {
	return func(setup Setup) (Seat, error) {
		s := &bareSeat{kind: kind, peers: setup.Peers, many: setup.InFlight > 1}
		if !setup.Listens {
			return s, nil
		}
		var err error
		s.addr, err = kind.listen(s.accept)
		return s, err
	}
}

// bareSeat listens, if it publishes or responds, or dials.
type bareSeat struct {
	kind  conns
	peers []string
	many  bool
	addr  string

	mu     sync.Mutex
	opened []io.ReadWriteCloser
	pipes  []*pipe // of a publisher
	handle func(body []byte) []byte
}

func (s *bareSeat) Addr() string { return s.addr }

func (s *bareSeat) accept(conn io.ReadWriteCloser) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, conn)
	if s.handle == nil {
		s.pipes = append(s.pipes, newPipe(conn))
		return
	}
	go func() { _ = echo(conn, s.handle) }()
}

func (s *bareSeat) dial(addr string) (io.ReadWriteCloser, error) {
	conn, err := s.kind.dial(addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, conn)
	return conn, nil
}

func (s *bareSeat) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.opened {
		conn.Close()
	}
	return s.kind.close()
}

func (s *bareSeat) Publisher() (Publisher, error) { return &barePublisher{seat: s}, nil }

type barePublisher struct {
	seat  *bareSeat
	pipes []*pipe
	calls uint
}

// Publish looks for new subscribers now and then only.
func (p *barePublisher) Publish(body []byte) error {
	if p.calls++; p.calls < 1000 || p.calls%1024 == 0 {
		p.seat.mu.Lock()
		p.pipes = p.seat.pipes
		p.seat.mu.Unlock()
	}
	for _, pipe := range p.pipes {
		if err := pipe.send(body); err != nil {
			return err
		}
	}
	return nil
}

func (p *barePublisher) Flush() error {
	for _, pipe := range p.pipes {
		if err := pipe.flush(); err != nil {
			return err
		}
	}
	return nil
}

func (s *bareSeat) Subscribe(each func(body []byte)) (Subscription, error) {
	for _, addr := range s.peers {
		conn, err := s.dial(addr)
		if err != nil {
			return nil, err
		}
		go func() { _ = receive(conn, each, nil) }()
	}
	return silent{}, nil
}

func (s *bareSeat) Requester() (Requester, error) {
	conn, err := s.dial(s.peers[0])
	if err != nil {
		return nil, err
	}
	if s.many {
		return newAskers(conn), nil
	}
	return &asker{conn: conn, r: bufio.NewReaderSize(conn, pipeBytes)}, nil
}

// Respond must be called before anybody dials.
func (s *bareSeat) Respond(handle func(body []byte) []byte, handlers int) error {
	if handlers > 1 {
		return ErrNotOffered
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = handle
	return nil
}

type plainConns struct{}

func (plainConns) listen(each func(io.ReadWriteCloser)) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return acceptAll(l, each), nil
}

func acceptAll(l net.Listener, each func(io.ReadWriteCloser)) string {
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			each(conn)
		}
	}()
	return l.Addr().String()
}

func (plainConns) dial(addr string) (io.ReadWriteCloser, error) { return net.Dial("tcp", addr) }
func (plainConns) close() error                                 { return nil }

type secureConns struct{ server, client *tls.Config }

func newSecureConns(dir string) (secureConns, error) {
	certificate := filepath.Join(dir, certFile)
	pair, err := tls.LoadX509KeyPair(certificate, filepath.Join(dir, keyFile))
	if err != nil {
		return secureConns{}, err
	}
	text, err := os.ReadFile(certificate)
	if err != nil {
		return secureConns{}, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return secureConns{}, errors.New("no certificate in " + certFile)
	}
	return secureConns{
		server: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13},
		client: &tls.Config{RootCAs: roots, ServerName: certName, MinVersion: tls.VersionTLS13},
	}, nil
}

func (c secureConns) listen(each func(io.ReadWriteCloser)) (string, error) {
	l, err := tls.Listen("tcp", "127.0.0.1:0", c.server)
	if err != nil {
		return "", err
	}
	return acceptAll(l, each), nil
}

func (c secureConns) dial(addr string) (io.ReadWriteCloser, error) {
	return tls.Dial("tcp", addr, c.client)
}

func (secureConns) close() error { return nil }
