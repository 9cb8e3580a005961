// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/scrape"
	"github.com/arke-mesh/arke/relay"
)

// MinToken is how many bytes a token has at least.
const MinToken = 16

// maxConns bounds the connections that are served at once.
const maxConns = 64

var (
	// ErrNoToken is returned by Start for an address that other machines reach.
	ErrNoToken = errors.New("admin: an address that is not loopback needs a token: other machines can reach it")
	// ErrWeakToken is returned by Start for a token that is too short.
	ErrWeakToken = fmt.Errorf("admin: the token has less than %d bytes", MinToken)
)

// Relay is what is watched beside the node: *relay.Relay.
type Relay interface {
	Status() relay.Status
	Describe() []byte
}

var _ Relay = (*relay.Relay)(nil)

// Config says what a Server shows, and where. Address is required, and either Node and
// Relay, or Gateway.
type Config struct {
	// Address is "host:port", or "unix:" and the path of a socket.
	Address string
	// Token is what requests show as "Authorization: Bearer TOKEN", at least
	// MinToken bytes. Required off loopback; if it is there, it is asked for on
	// loopback, too.
	Token string
	Node  scrape.Source
	Relay Relay
	// Gateway is shown in their place.
	Gateway Gateway
	// Level answers /log-level; nil = there is none. zap.AtomicLevel is one.
	Level http.Handler
	// Logger is where the server logs; nil = nowhere.
	Logger *zap.Logger
}

// Check says what is wrong with address and token, as Start would.
func (c Config) Check() error {
	switch {
	case c.Token != "" && len(c.Token) < MinToken:
		return ErrWeakToken
	case strings.HasPrefix(c.Address, unixPrefix):
		if len(c.Address) == len(unixPrefix) {
			return errors.New("admin: unix: needs the path of a socket")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(c.Address)
	switch {
	case err != nil:
		return fmt.Errorf("admin: %w", err)
	case !isLoopback(host) && c.Token == "":
		return fmt.Errorf("%w (%s)", ErrNoToken, c.Address)
	}
	return nil
}

// unixPrefix begins the address of a socket.
const unixPrefix = "unix:"

// Server serves the admin address. Its methods may be called concurrently.
type Server struct {
	http     *http.Server
	listener net.Listener
	log      *zap.Logger
	done     sync.WaitGroup
}

// Start listens and serves until Close.
func Start(c Config) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	metrics, err := newMetrics(c)
	if err != nil {
		return nil, err
	}
	l, err := listen(c)
	if err != nil {
		return nil, err
	}
	connections := &places{Listener: l, most: maxConns}
	s := &Server{listener: connections, log: c.Logger.Named("admin")}
	s.http = &http.Server{
		Handler:           guard{token: c.Token, local: c.Token == "" && l.Addr().Network() != "unix", next: routes(c, metrics)},
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second, // package pprof adds what a profile takes
		ConnState:         connections.changed,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          zap.NewStdLog(s.log),
	}
	s.done.Go(func() {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the admin address is not served any more", zap.Error(err))
		}
	})
	return s, nil
}

// Addr is where it listens, as Config.Address would have it.
func (s *Server) Addr() string {
	a := s.listener.Addr()
	if a.Network() == "unix" {
		return unixPrefix + a.String()
	}
	return a.String()
}

// Close ends what is being answered, and waits.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	s.done.Wait()
	return err
}

// listen opens the address. What only its owner may open is so before anybody can
// connect.
func listen(c Config) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(c.Address, unixPrefix)
	if isUnix {
		l, err := relay.ListenPrivate(path)
		if err != nil {
			return nil, fmt.Errorf("admin: %w", err)
		}
		return l, nil
	}
	l, err := net.Listen("tcp", c.Address)
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	// A name may mean anything.
	if a, ok := l.Addr().(*net.TCPAddr); c.Token == "" && (!ok || !a.IP.IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("%w (%s is %v)", ErrNoToken, c.Address, l.Addr()), l.Close())
	}
	return l, nil
}

// registry returns what /metrics gathers.
func registry(c Config) (*prometheus.Registry, error) {
	r := prometheus.NewRegistry()
	all := []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{PidFn: pid}),
	}
	if c.Gateway != nil {
		all = append(all, newGatewayCollector(c.Gateway))
	} else {
		all = append(all, scrape.NewNode(c.Node), newRelayCollector(c.Relay))
	}
	for _, each := range all {
		if err := r.Register(each); err != nil {
			return nil, fmt.Errorf("admin: %w", err)
		}
	}
	return r, nil
}

func pid() (int, error) { return os.Getpid(), nil }
