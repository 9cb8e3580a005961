// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import "errors"

// Errors of Host. Tell them apart with errors.Is; context errors pass through.
var (
	// ErrClosed is returned by everything after Close has begun, and by what
	// needs a started Host before Start.
	ErrClosed = errors.New("p2p: host is not running")

	// ErrSelf is returned by Connect and Open when the address or the peer id
	// turns out to be this node's own. A list of seeds that is the same on
	// every node names each of them, so this is no failure.
	ErrSelf = errors.New("p2p: that is this node itself")

	// ErrRefused is returned by Connect and Open when a handshake ended
	// because one side does not admit the other one: they hold different
	// network keys.
	ErrRefused = errors.New("p2p: not admitted: the two nodes hold different network keys")

	// ErrNoAddress is returned by Connect and Open when none of the addresses
	// can be used, or none is known.
	ErrNoAddress = errors.New("p2p: no usable address")

	// ErrBadAddress is returned by New for an address of Config, and by
	// Connect for a seed, that can't be understood.
	ErrBadAddress = errors.New("p2p: bad address")

	// errNotAdmitted marks a handshake that this side refused.
	errNotAdmitted = errors.New("p2p: peer is not admitted to this network")

	// errProbe ends the upgrade of a connection whose opener only asked who
	// is here. It is not a failure.
	errProbe = errors.New("p2p: connection was a probe")

	// errLimit is what the resource manager refuses with.
	errLimit = errors.New("p2p: limit reached")
)
