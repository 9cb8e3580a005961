// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/notice"
	"github.com/arke-mesh/arke/patterns"
)

// Opener opens tunnels; every patterns.Messenger is one.
type Opener interface {
	OpenTunnel(ctx context.Context, cluster string, first patterns.Message, opts ...patterns.RequestOption) (patterns.Tunnel, error)
}

// ForwardConfig says what leads where. Listener, Cluster and Opener are
// required; the Forwarder closes Listener.
type ForwardConfig struct {
	Listener *net.TCPListener
	Cluster  string
	Opener   Opener
	// Log gets a line for each connection that could not be led on; nil = none.
	Log *zap.Logger
}

// Forwarder leads the connections of a local port to a cluster, each through a
// tunnel of its own to the member that the opener picks.
type Forwarder struct {
	// Immutable after NewForwarder.
	cfg     ForwardConfig
	splicer Splicer

	// Lifecycle: run ends when what is under way is to be cut off.
	run  context.Context
	cut  context.CancelFunc
	work sync.WaitGroup
}

// NewForwarder returns a Forwarder that accepts nothing yet.
func NewForwarder(cfg ForwardConfig) *Forwarder {
	cfg.Log = cmp.Or(cfg.Log, zap.NewNop())
	f := &Forwarder{cfg: cfg}
	f.run, f.cut = context.WithCancel(context.Background())
	return f
}

// patience is how long the opening of a tunnel, or a connection to the service, may take.
const patience = 5 * time.Second

// acceptPause is how long nothing is accepted after an error, such as too many
// open files.
const acceptPause = 50 * time.Millisecond

// Serve accepts connections until ctx ends or the listener fails for good, and
// closes the listener. Connections under way go on. It is called once.
func (f *Forwarder) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = f.cfg.Listener.Close() })
	defer stop()
	var failures notice.Seldom
	for {
		conn, err := f.cfg.Listener.AcceptTCP()
		switch {
		case err == nil:
			f.work.Go(func() { f.lead(conn) })
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			if times := failures.Step(time.Now()); times > 0 {
				f.cfg.Log.Warn("can't accept connections, trying again; check the limit of open files", zap.Error(err), zap.Int("times", times))
			}
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
		}
	}
}

// Shutdown waits for the connections under way until ctx ends, and cuts off
// those that are left. It is called after Serve has returned.
func (f *Forwarder) Shutdown(ctx context.Context) error {
	stop := context.AfterFunc(ctx, f.cut)
	f.work.Wait()
	f.cut()
	if !stop() {
		return ctx.Err()
	}
	return nil
}

func (f *Forwarder) lead(conn *net.TCPConn) {
	guard(conn)
	opening, cancel := context.WithTimeout(f.run, patience)
	t, err := f.cfg.Opener.OpenTunnel(opening, f.cfg.Cluster, patterns.Message{})
	cancel()
	from := zap.Stringer("from", conn.RemoteAddr())
	if err != nil {
		abort(conn)
		f.cfg.Log.Warn("connection refused", from, zap.String("cluster", f.cfg.Cluster), zap.Error(err))
		return
	}
	if err := f.splicer.Splice(f.run, conn, t); err != nil {
		f.cfg.Log.Info("connection reset", from, zap.String("member", t.Info().Member), zap.Error(err))
	}
}

// Server registers members; every patterns.Messenger is one.
type Server interface {
	Serve(ctx context.Context, cluster string, h patterns.Handler, limits patterns.Limits) (patterns.Registration, error)
}

// ExposeConfig says what becomes a member of what. Cluster, Target and Server
// are required.
type ExposeConfig struct {
	Cluster string
	Target  string // HOST:PORT of the service
	Server  Server
	Limits  patterns.Limits
	// Pause is how long to wait before a service that was not there is looked
	// for again; default 1 s.
	Pause time.Duration
	// Ready, if not nil, is called after each registration.
	Ready func()
	// Log gets a line when the service is gone or back; nil = none.
	Log *zap.Logger
}

func (c ExposeConfig) withDefaults() ExposeConfig {
	c.Pause = cmp.Or(c.Pause, time.Second)
	c.Log = cmp.Or(c.Log, zap.NewNop())
	if c.Ready == nil {
		c.Ready = func() {}
	}
	return c
}

// Exposer makes a TCP service a member of a cluster, while the service is
// there: when a connection to it fails, and so does the next attempt, the
// member leaves the cluster until the service is back, so that callers are led
// to others. Tunnels that are open stay.
type Exposer struct {
	// Immutable after NewExposer.
	cfg     ExposeConfig
	splicer Splicer
	failed  chan struct{} // a connection has failed; at most one word

	// Lifecycle: leave ends when the tunnels of members that have left are to
	// be cut off.
	leave   context.Context
	cut     context.CancelFunc
	leaving sync.WaitGroup
}

// NewExposer returns an Exposer that does nothing yet.
func NewExposer(cfg ExposeConfig) *Exposer {
	e := &Exposer{cfg: cfg.withDefaults(), failed: make(chan struct{}, 1)}
	e.leave, e.cut = context.WithCancel(context.Background())
	return e
}

// Run keeps the service registered until ctx ends or a registration fails.
// The member and its tunnels stay: whoever owns the Server drains it, and then
// calls Close.
func (e *Exposer) Run(ctx context.Context) error {
	for e.await(ctx) {
		registration, err := e.cfg.Server.Serve(ctx, e.cfg.Cluster, patterns.Service{Tunnel: e.serve}, e.cfg.Limits)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		e.cfg.Ready()
		if !e.lost(ctx) {
			return nil
		}
		e.cfg.Log.Warn("the service is gone, its member leaves the cluster until it is back", zap.String("service", e.cfg.Target))
		e.leaving.Go(func() { _ = registration.Close(e.leave) })
	}
	return nil
}

// Close cuts off the tunnels of members that have left before, and waits. It
// is called after Run has returned.
func (e *Exposer) Close() {
	e.cut()
	e.leaving.Wait()
}

// await waits until the service takes a connection, and reports false if ctx
// ended before.
func (e *Exposer) await(ctx context.Context) bool {
	for told := false; ctx.Err() == nil; told = true {
		err := e.probe(ctx)
		if err == nil {
			return true
		}
		if !told {
			e.cfg.Log.Warn("no service yet, waiting for it", zap.String("service", e.cfg.Target), zap.String("error", reason(err)))
		}
		select {
		case <-time.After(e.cfg.Pause):
		case <-ctx.Done():
		}
	}
	return false
}

// lost waits until the service is gone, and reports false if ctx ended before.
func (e *Exposer) lost(ctx context.Context) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-e.failed:
		}
		if e.probe(ctx) != nil && ctx.Err() == nil {
			return true
		}
	}
}

func (e *Exposer) probe(ctx context.Context) error {
	conn, err := e.dial(ctx)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

func (e *Exposer) dial(ctx context.Context) (*net.TCPConn, error) {
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, "tcp", e.cfg.Target)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// serve has one tunnel.
func (e *Exposer) serve(ctx context.Context, t patterns.Tunnel) error {
	conn, err := e.dial(ctx)
	if err != nil {
		select {
		case e.failed <- struct{}{}:
		default:
		}
		return &patterns.RemoteError{Cluster: e.cfg.Cluster, Message: e.cfg.Target + ": " + reason(err)}
	}
	// The end of the tunnel says all there is to say, and says it in order;
	// ctx ends then, too, but does not know whether all was delivered.
	if err := e.splicer.Splice(context.WithoutCancel(ctx), conn, t); err != nil {
		e.cfg.Log.Info("connection reset", zap.Error(err))
		return err
	}
	return nil
}
