// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/arke-mesh/arke/patterns"
)

// tunnels sends what a tunnel is opened with, and expects it as the tunnel's one
// message.
type tunnels struct{ member }

func (tunnels) name() string { return "tunnel" }

func (tunnels) receive(ctx context.Context, m patterns.Messenger, to string, r *receiver, l patterns.Limits) (closer, error) {
	return m.Serve(ctx, to, patterns.Service{Tunnel: func(ctx context.Context, t patterns.Tunnel) error {
		first := t.Info().Open
		r.take(ctx, first)
		return t.Send(ctx, first.Body)
	}}, l)
}

func (tunnels) send(ctx context.Context, m patterns.Messenger, to string, msg patterns.Message) error {
	t, err := m.OpenTunnel(ctx, to, msg)
	if err != nil {
		return err
	}
	defer t.Close()
	body, err := t.Receive(ctx)
	if err != nil {
		t.Reset(patterns.CodeUnknown, "the check is over")
		return asRemote(to, err)
	}
	if err := same(patterns.Message{Body: msg.Body}, patterns.Message{Body: body}); err != nil {
		return err
	}
	if _, err := t.Receive(ctx); !errors.Is(err, io.EOF) {
		return fmt.Errorf("after the last message comes %w", err)
	}
	return nil
}

// asRemote makes a handler's reset what its refusal would be to a request.
func asRemote(to string, err error) error {
	var reset *patterns.TunnelError
	if errors.As(err, &reset) {
		return &patterns.RemoteError{Cluster: to, Code: reset.Code, Message: reset.Message}
	}
	return err
}
