// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"

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
	// OpenTime is how long the opening of a tunnel may take; default 5 s.
	OpenTime time.Duration
	// Log gets a line for each connection that could not be led on; nil = none.
	Log *zap.Logger
}

func (c ForwardConfig) withDefaults() ForwardConfig {
	if c.OpenTime == 0 {
		c.OpenTime = 5 * time.Second
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return c
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
	f := &Forwarder{cfg: cfg.withDefaults()}
	f.run, f.cut = context.WithCancel(context.Background())
	return f
}

// acceptPause is how long nothing is accepted after an error, such as too many
// open files.
const acceptPause = 50 * time.Millisecond

// Serve accepts connections until ctx ends or the listener fails for good, and
// closes the listener. Connections under way go on. It is called once.
func (f *Forwarder) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = f.cfg.Listener.Close() })
	defer stop()
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
			f.cfg.Log.Warn("connections wait", zap.Error(err))
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
	opening, cancel := context.WithTimeout(f.run, f.cfg.OpenTime)
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
