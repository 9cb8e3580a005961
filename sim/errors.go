// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/overlay"
)

// What a simulated transport can fail with. Streams also fail with
// *network.StreamError and os.ErrDeadlineExceeded, as libp2p's do.
var (
	// ErrDown is returned by every call on the seam of a node that has
	// crashed, and by those on a closed Transport or Network.
	ErrDown = errors.New("sim: node is down")

	// ErrRefused is returned by a dial to a host on which no node listens.
	ErrRefused = fmt.Errorf("sim: %w", overlay.ErrRefused)

	// ErrNoAddress is returned by a dial to a peer whose address is not known
	// or names nobody.
	ErrNoAddress = errors.New("sim: no such address")

	// ErrWrongPeer is returned by a dial to an address where another peer
	// than the expected one answers.
	ErrWrongPeer = errors.New("sim: another peer at this address")

	// ErrTimeout is returned by a dial that nobody answered.
	ErrTimeout = errors.New("sim: dial timed out")

	// ErrConnLost is what streams fail with, wrapped in a
	// *network.StreamError, when the connection below is gone.
	ErrConnLost = errors.New("sim: connection lost")
)
