// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import "errors"

var (
	// ErrInUse is returned by New when another node uses the data directory.
	ErrInUse = errors.New("node: the data directory is in use by another node: stop that one, or choose another directory")

	// ErrNotStarted is returned by everything that needs the network before
	// Start has returned.
	ErrNotStarted = errors.New("node: not started")

	errNoHandler    = errors.New("node: Serve needs a handler")
	errNoSubscriber = errors.New("node: Subscribe needs a subscriber")
)
