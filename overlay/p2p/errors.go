// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import "errors"

// Errors of Host. Tell them apart with errors.Is; context errors pass through.
var (
	// ErrClosed is returned by everything after Close has begun, and by what
	// needs a started Host before Start.
	ErrClosed = errors.New("p2p: host is not running")

	// ErrSelf is returned by Open, and by Connect for a peer id, when that is
	// this node's own.
	ErrSelf = errors.New("p2p: that is this node itself")

	// ErrRefused is returned by Connect and Open when one side does not admit
	// the other one, because they hold different network keys, or when what
	// listens there hung up without a word, as nodes do then.
	ErrRefused = errors.New("p2p: not admitted")

	// ErrNoAddress is returned by Connect and Open when none of the addresses
	// can be used, or none is known.
	ErrNoAddress = errors.New("p2p: no usable address")

	// ErrBadAddress is returned by New for an address of Config, and by
	// Connect for a seed, that can't be understood.
	ErrBadAddress = errors.New("p2p: bad address")

	// errNotAdmitted marks a handshake that this side refused.
	errNotAdmitted = errors.New("p2p: peer is not admitted to this network")

	// errSilent is why a dialler gives up that has not heard a byte. It holds
	// another key, or has met what is no node; or one that is too busy.
	errSilent = errors.New("closed without a word: another network key, or not Arke")

	// errStranger refuses an accepted connection before anything was said on
	// it, and errSentAway one that others need the place of.
	errStranger = errors.New("p2p: no greeting by a key of this network")
	errSentAway = errors.New("p2p: sent away")

	// errQuestion is why a stream to the router is reset.
	errQuestion = errors.New("p2p: not a question for the router")

	// errNoRoute is why no stream of libp2p's is opened to a peer.
	errNoRoute = errors.New("p2p: the peer takes no part in routing: it has no certificate that lets it in")

	// errProbe ends the upgrade of a connection whose opener only asked who
	// is here. It is not a failure.
	errProbe = errors.New("p2p: connection was a probe")

	// errLimit is what the resource manager refuses with.
	errLimit = errors.New("p2p: limit reached")
)
