// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"

	"github.com/arke-mesh/arke/relay/internal/failure"
)

var (
	// ErrSocketInUse is returned by Start when another relay is alive at the
	// socket.
	ErrSocketInUse = errors.New("relay: socket is in use by a running relay")

	// ErrUnsafeSocket is returned by Start when the socket would be in a place
	// where another user could put his own instead, or where something else
	// is already.
	ErrUnsafeSocket = errors.New("relay: unsafe place for a socket")

	// ErrNotLoopback is returned by New and Start for a Listen address that
	// other machines could reach.
	ErrNotLoopback = errors.New("relay: not a loopback address, like 127.0.0.1:4078 or [::1]:4078")

	// ErrNoToken is returned by New for a Listen address without a Token: any
	// user of the machine could attach.
	ErrNoToken = errors.New("relay: a loopback address needs a token")

	// ErrTooManyClients is why one more client than Limits.Clients is refused.
	ErrTooManyClients = errors.New("relay: too many clients")

	// ErrTooManyRegistrations is why one more registration of a client than
	// Limits.Registrations fails.
	ErrTooManyRegistrations = failure.ErrTooManyRegistrations

	// ErrTooManySubscriptions is why one more subscription of a client than
	// Limits.Subscriptions fails. It matches patterns.ErrTooMany.
	ErrTooManySubscriptions = failure.ErrTooManySubscriptions

	// ErrTooManyRequests is why one more call of a client than
	// Limits.Requests fails.
	ErrTooManyRequests = failure.ErrTooManyRequests

	// ErrTooManyTunnels is why one more tunnel of a client than
	// Limits.Tunnels fails, or one for which Limits.TunnelBytes leaves no
	// credit.
	ErrTooManyTunnels = failure.ErrTooManyTunnels

	// ErrTooManyBytes is why a call of a client fails that goes beyond
	// Limits.RequestBytes.
	ErrTooManyBytes = failure.ErrTooManyBytes
)

// Why the session of a client ended; the cause of its context.
var (
	errGone     = errors.New("relay: client is gone")
	errSlow     = errors.New("relay: client does not read")
	errViolated = errors.New("relay: client broke the protocol")
	errReplaced = errors.New("relay: client came back in a newer session")
	errClosed   = errors.New("relay: closed")
)
