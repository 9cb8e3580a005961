// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"sync"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/execute"
	"github.com/arke-mesh/arke/patterns"
)

// member does the work of arke serve.
type member struct {
	flags serveFlags
	log   *zap.Logger

	mu  sync.Mutex
	out io.Writer // guarded by mu
}

// service returns the patterns that the user chose.
func (m *member) service() patterns.Service {
	var s patterns.Service
	command := execute.Handler{Command: m.flags.command}
	switch {
	case m.flags.echo:
		s.Request = echo
		s.Push = func(_ context.Context, r *patterns.Request) { m.print(line(r.Body)) }
		s.Broadcast = s.Push
	case m.flags.command != "":
		s.Request = command.ServeRequest
		s.Push = func(ctx context.Context, r *patterns.Request) {
			result, err := command.ServeRequest(ctx, r)
			if err != nil {
				m.log.Warn("the command failed", zap.Stringer("pattern", r.Pattern), zap.Error(err))
				return
			}
			if len(result.Body) > 0 {
				m.print(line(result.Body))
			}
		}
		s.Broadcast = s.Push
	}
	switch {
	case m.flags.tunnelEcho:
		s.Tunnel = echoTunnel
	case m.flags.tunnelCommand != "":
		s.Tunnel = execute.Tunnel{Command: m.flags.tunnelCommand}.ServeTunnel
	}
	return s
}

// print writes what belongs together in one go. That nobody reads it is not
// the callers' fault, nor their business.
func (m *member) print(text []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.out.Write(text)
}

func echo(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	return patterns.Message{Headers: r.Headers, Body: r.Body}, nil
}

// echoTunnel sends back each message, of any size, in bounded memory.
func echoTunnel(ctx context.Context, t patterns.Tunnel) error {
	for {
		message, err := t.Receive(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, patterns.ErrTooLarge):
			err = echoLarge(ctx, t)
		case err == nil:
			err = t.Send(ctx, message)
		}
		if err != nil {
			return err
		}
	}
}

// echoLarge sends a message back while it comes.
func echoLarge(ctx context.Context, t patterns.Tunnel) error {
	r, w := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := t.SendFrom(ctx, r)
		_ = r.CloseWithError(err)
		sent <- err
	}()
	_, err := t.ReceiveTo(ctx, w)
	_ = w.CloseWithError(err) // nil is the end of the message
	return errors.Join(err, <-sent)
}
