// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// questioner is the host as kad-dht has it, which asks over connections that stand.
//
// Pitfall "a question dials": kad-dht asks each new peer whether it answers. If the
// connection ends meanwhile, because Disconnect has ended it, say, the question would
// make another one, and nobody hears that there was none. Lookups dial whom others have
// named: see mayDial.
type questioner struct{ host.Host }

// NewStream implements host.Host.
func (q questioner) NewStream(ctx context.Context, p peer.ID, protocols ...protocol.ID) (network.Stream, error) {
	if ctx.Value(dialKey{}) == nil {
		ctx = network.WithNoDial(ctx, "a question needs no connection of its own")
	}
	return q.Host.NewStream(ctx, p, protocols...)
}

type dialKey struct{}

// mayDial returns a context in which a question may connect to whom it is for.
func mayDial(ctx context.Context) context.Context { return context.WithValue(ctx, dialKey{}, true) }
