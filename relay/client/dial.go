// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/relay/internal/peercred"
)

// handshakeTime is how long a relay may take to welcome us.
const handshakeTime = 3 * time.Second

// dial connects to the relay and shakes hands. resume is the session before,
// if there was one.
func (c *Client) dial(ctx context.Context, resume session.ID) (*attachment, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, c.noRelay(err)
	}
	// The handshake must not outlast ctx.
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	reader := session.NewReader(conn, session.MaxHandshake)
	welcome, err := c.shake(conn, reader, resume)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	reader.SetLimit(int(min(welcome.Limits.Frame, session.MaxFrame)))
	return newAttachment(c, conn, reader, welcome), nil
}

func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	if c.cfg.Socket == "" {
		return d.DialContext(ctx, "tcp", c.cfg.Address)
	}
	return d.DialContext(ctx, "unix", c.cfg.Socket)
}

// shake says Hello and returns what the relay makes of it.
func (c *Client) shake(conn net.Conn, reader *session.Reader, resume session.ID) (*session.Welcome, error) {
	// Root may attach to anybody's relay: whom should it distrust?
	if local, ok := conn.(*net.UnixConn); ok && os.Geteuid() != 0 {
		if err := peercred.Check(local, os.Geteuid()); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrUser, c.cfg.target(), err)
		}
	}
	hello, err := session.Append(nil, &session.Hello{
		MinVersion: session.MinVersion,
		MaxVersion: session.MaxVersion,
		Resume:     resume,
		Token:      c.cfg.Token,
		Client:     c.cfg.Name,
	})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if _, err := conn.Write(hello); err != nil {
		return nil, c.noRelay(err)
	}
	k, body, err := reader.Next()
	if err != nil {
		return nil, c.noRelay(err)
	}
	f, err := session.Decode(k, body)
	if err != nil {
		return nil, c.noRelay(err)
	}
	switch f := f.(type) {
	case *session.Welcome:
		if f.Version < session.MinVersion || f.Version > session.MaxVersion {
			return nil, fmt.Errorf("%w: version %d", ErrVersion, f.Version)
		}
		return f, nil
	case *session.Refused:
		return nil, refused(f)
	}
	return nil, c.noRelay(fmt.Errorf("it answers with %s", k))
}

// noRelay says in one line what to look at.
func (c *Client) noRelay(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w at %s: is 'arke relay' running, and is this where it listens? (%w)", ErrNoRelay, c.cfg.target(), err)
}
