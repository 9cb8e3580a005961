// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
)

// natsSystems are core NATS: one server, one server with TLS, two servers in a
// cluster with publishers at the first and subscribers at the second.
func natsSystems() []System {
	plain := System{
		Name: "nats", About: "one nats-server, plain TCP", Credit: true, Topics: true, Requests: true, Balances: true, Served: true,
		Version: programVersion("nats-server", "--version"), Missing: programMissing("nats-server"),
		Start: startNATS(1, false), Join: joinNATS,
	}
	secure, two := plain, plain
	secure.Name, secure.About = "nats-tls", "one nats-server, TLS 1.3"
	secure.Start = startNATS(1, true)
	two.Name, two.About = "nats-2", "program → server → server → program, plain TCP"
	two.Start = startNATS(2, false)
	return []System{plain, secure, two}
}

func startNATS(count int, secure bool) func(Site) ([]string, error) {
	return func(site Site) (urls []string, err error) {
		program, err := site.Program("nats-server")
		if err != nil {
			return nil, err
		}
		var tlsFlags []string
		if secure {
			if err := writeCertificate(site.Dir()); err != nil {
				return nil, err
			}
			tlsFlags = []string{
				"--tls", "--tlscert", filepath.Join(site.Dir(), certFile), "--tlskey", filepath.Join(site.Dir(), keyFile),
			}
		}
		var routes []string
		for i := range count {
			address, route := site.FreePort(), site.FreePort()
			argv := append([]string{program, "-a", "127.0.0.1", "-p", port(address)}, tlsFlags...)
			if count > 1 {
				argv = append(argv, "--cluster_name", "bench", "--cluster", "nats://"+route, "-n", fmt.Sprint("n", i))
				argv = append(argv, routes...)
				routes = []string{"--routes", "nats://" + route}
			}
			if _, err := site.Launch("", nil, argv...); err != nil {
				return nil, err
			}
			if err := site.Await(address); err != nil {
				return nil, err
			}
			urls = append(urls, address)
		}
		return urls, nil
	}
}

func joinNATS(setup Setup) (Seat, error) {
	var options []nats.Option
	if text, err := os.ReadFile(filepath.Join(setup.Dir, certFile)); err == nil {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(text)
		options = append(options, nats.Secure(&tls.Config{RootCAs: roots, ServerName: certName, MinVersion: tls.VersionTLS13}))
	}
	c, err := nats.Connect("nats://"+setup.server(), options...)
	if err != nil {
		return nil, err
	}
	return &natsSeat{c: c}, nil
}

type natsSeat struct {
	lacks
	c *nats.Conn
}

func (s *natsSeat) Close() error { s.c.Close(); return nil }

func (s *natsSeat) Publisher() (Publisher, error) { return natsPublisher{s.c}, nil }

type natsPublisher struct{ c *nats.Conn }

func (p natsPublisher) Publish(body []byte) error { return p.c.Publish(topic, body) }
func (p natsPublisher) Flush() error              { return p.c.Flush() }

func (s *natsSeat) Subscribe(each func(body []byte)) (Subscription, error) {
	sub, err := s.c.Subscribe(topic, func(m *nats.Msg) { each(m.Data) })
	if err != nil {
		return nil, err
	}
	return natsSubscription{sub}, s.c.Flush()
}

type natsSubscription struct{ sub *nats.Subscription }

func (s natsSubscription) Told() uint64 {
	dropped, err := s.sub.Dropped()
	if err != nil {
		return 0
	}
	return uint64(dropped)
}

func (s *natsSeat) Requester() (Requester, error) { return natsRequester{s.c}, nil }

type natsRequester struct{ c *nats.Conn }

func (r natsRequester) Request(body []byte) ([]byte, error) {
	m, err := r.c.Request(service, body, requestTime)
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}

// requestTime is how long a request may take: Arke's default.
const requestTime = 5 * time.Second

// Respond answers in the subscription's own goroutine, one request at a time as
// is the default, or in as many goroutines as there are to be handlers.
func (s *natsSeat) Respond(handle func(body []byte) []byte, handlers int) error {
	answer := func(m *nats.Msg) { _ = m.Respond(handle(m.Data)) }
	each := answer
	if handlers > 1 {
		work := make(chan *nats.Msg)
		for range handlers {
			go func() {
				for m := range work {
					answer(m)
				}
			}()
		}
		each = func(m *nats.Msg) { work <- m }
	}
	if _, err := s.c.QueueSubscribe(service, "members", each); err != nil {
		return err
	}
	return s.c.Flush()
}
