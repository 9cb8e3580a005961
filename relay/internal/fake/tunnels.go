// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/arke-mesh/arke/patterns"
)

// OpenTunnel implements patterns.Messenger. The credit of a tunnel does not
// grow.
func (n *Node) OpenTunnel(ctx context.Context, cluster string, first patterns.Message, opts ...patterns.RequestOption) (patterns.Tunnel, error) {
	var t *Tunnel
	err := n.attempt(ctx, cluster, patterns.CollectOptions(opts), func(_ context.Context, m *member) (again bool, err error) {
		t, err = m.open(first)
		return errors.Is(err, patterns.ErrOverloaded), err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// open begins a tunnel to the member; pick has counted it.
func (m *member) open(first patterns.Message) (*Tunnel, error) {
	serve := patterns.ServiceOf(m.handler).Tunnel
	if serve == nil {
		m.wg.Done()
		return nil, &patterns.RemoteError{Cluster: m.cluster, Code: patterns.CodeNoMethod, Message: "no tunnels here"}
	}
	if m.tunnels.Add(1) > int64(m.limits.Tunnels) {
		m.tunnels.Add(-1)
		m.wg.Done()
		return nil, patterns.ErrOverloaded
	}
	caller, callee := newPair(m.limits.MessageBytes, cmp.Or(m.node.TunnelWindow, tunnelWindow))
	caller.info = patterns.TunnelInfo{Cluster: m.cluster, Member: m.id, Peer: "peer"}
	callee.info = caller.info
	callee.info.Open = patterns.Message{Headers: slices.Clone(first.Headers), Body: slices.Clone(first.Body)}
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(m.ctx, caller.Interrupt)
	caller.pair.over = func() {
		stop()
		cancel()
		m.tunnels.Add(-1)
		m.wg.Done()
	}
	m.node.wg.Go(func() {
		err := serve(ctx, callee)
		if !callee.detached.Load() {
			callee.served(err)
		}
	})
	return caller, nil
}

// served ends a tunnel as its handler wants.
func (t *Tunnel) served(err error) {
	var remote *patterns.RemoteError
	switch {
	case err == nil:
		t.Close()
	case errors.As(err, &remote):
		t.Reset(remote.Code, remote.Message)
	default:
		t.Reset(patterns.CodeUnknown, err.Error())
	}
}
