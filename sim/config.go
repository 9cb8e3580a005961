// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim/link"
)

// Config describes a simulated network. The zero value is usable: every field
// left zero has the default named beside it.
type Config struct {
	// Seed decides every random number of the network and its nodes. Zero is
	// a seed like any other.
	Seed uint64

	// Latency is that of every path without one of its own (Link,
	// Network.SetLatency, Network.SetLink). Default: 5 ms base, 1 ms jitter.
	Latency Latency

	// Link is the model of the path from one node to another, by their names;
	// it must always answer the same. nil = Latency and nothing else.
	Link func(from, to string) link.Model

	// DialTimeout ends a dial that nobody answers. Default 5 s.
	DialTimeout time.Duration

	// DeadAfter breaks a connection whose other end has been silent or cut
	// off for so long, as the keepalive of overlay/p2p does. Default 25 s.
	DeadAfter time.Duration

	// Window is how many bytes of one stream may be on their way or unread;
	// a Write waits while there are more. Default 256 KiB.
	Window int

	// Workers bounds the functions of Exec.Go that run or wait at one node.
	// Default 4096.
	Workers int

	// Refresh is how often a node's router looks for its own neighbourhood.
	// Default 10 s.
	Refresh time.Duration

	// Limit ends a run that got stuck, in virtual time: the driver panics
	// beyond it. Default 1 h.
	Limit time.Duration

	// Watchdog is how much real time may pass without progress before all
	// stacks are printed and the program ends. Default 60 s.
	Watchdog time.Duration

	// Record keeps every event for Trace.Diff, about 120 bytes each. Replay
	// sets it.
	Record bool

	// Shake has goroutines that run at the same instant use the network in another
	// order than they would. A run that replays is the same with it; what depends on
	// the order shows at once, and not only on a busy machine. Replay sets it for
	// its repetitions.
	Shake bool
}

// Latency is the one-way delay of a path: Base plus a random part of at most
// Jitter. The zero value means the default.
type Latency struct {
	Base   time.Duration
	Jitter time.Duration
}

func (c Config) withDefaults() Config {
	c.Latency = cmp.Or(c.Latency, Latency{Base: 5 * time.Millisecond, Jitter: time.Millisecond})
	c.DialTimeout = cmp.Or(max(0, c.DialTimeout), 5*time.Second)
	c.DeadAfter = cmp.Or(max(0, c.DeadAfter), 25*time.Second)
	c.Window = cmp.Or(max(0, c.Window), 256<<10)
	c.Workers = cmp.Or(max(0, c.Workers), 4096)
	c.Refresh = cmp.Or(max(0, c.Refresh), 10*time.Second)
	c.Limit = cmp.Or(max(0, c.Limit), time.Hour)
	c.Watchdog = cmp.Or(max(0, c.Watchdog), 60*time.Second)
	return c
}

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
