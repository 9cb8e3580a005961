// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/budget"
	"github.com/arke-mesh/arke/internal/wire"
)

// Config says how an Overlay behaves. Zero values mean the defaults named at
// each field.
type Config struct {
	// Seam is everything the overlay needs from outside. Required, whole.
	Seam Seam

	// Seeds are addresses of nodes to find the network through: multiaddrs,
	// with or without /p2p, or "host:port". They are dialled for ever.
	Seeds []string

	// RememberFile is where the peers known last are kept between runs, as
	// JSON. Empty means that nothing is remembered.
	RememberFile string

	// Heartbeat is the time without a byte after which a peer that somebody
	// is interested in is asked for one. Three times as long without an
	// answer makes it suspect. Default 400 ms.
	Heartbeat time.Duration

	// LaneBytes bounds what waits to be sent or acknowledged, per link and lane,
	// in encoded bytes. A lane with little in it takes one message of any legal
	// size. Defaults: ctl 1 MiB, rpc 4 MiB, pub 4 MiB, bulk 8 MiB; what bulk
	// carries in single frames, which is tunnels, has as much of its own, and of
	// that at most 512 KiB wait to be sent.
	LaneBytes [laneCount]int

	// MaxMessage bounds one message, sent or received, in bytes. What arrives
	// in fragments may use three times as much memory per link. Default 16 MiB.
	MaxMessage int

	// MaxIncomplete bounds the memory of messages that have arrived in part, of all
	// peers together, in bytes. Beyond half of it each peer has its share. Default
	// 256 MiB, or four messages if that is more.
	MaxIncomplete int

	// Held is a budget that is shared with the transport, in the place of
	// MaxIncomplete. Default: none.
	Held *budget.Budget[peer.ID]

	// Agent names program and release in the logs of other nodes. At most 256
	// bytes. Default "arke".
	Agent string
	// Gateway says that this node is a gateway's, with others in other networks. Peers are
	// told: whoever asks for Natives does not mean it.
	Gateway bool

	// Name is what people call this node: other nodes have it in their logs and
	// status. UTF-8 of at most 64 bytes. Default: none.
	Name string

	// Admission says who is let in by the certificate of its Hello. Default: everybody
	// who holds a network key, and nobody shows one.
	Admission Admission

	// AskWhy has a node that is connected, and that the router knows nobody for, open a
	// link to hear whether it is let in: see TurnedAway. Default: links are opened when
	// somebody needs them.
	AskWhy bool

	// Logger is named "overlay" here. Nil means no logs.
	Logger *zap.Logger
}

// Defaults of Config.
const (
	DefaultHeartbeat     = 400 * time.Millisecond
	DefaultMaxMessage    = 16 << 20
	DefaultMaxIncomplete = 256 << 20
)

func (c Config) withDefaults() Config {
	c.Heartbeat = cmp.Or(c.Heartbeat, DefaultHeartbeat)
	for i, d := range [laneCount]int{LaneCtl: 1 << 20, LaneRPC: 4 << 20, LanePub: 4 << 20, LaneBulk: 8 << 20} {
		c.LaneBytes[i] = cmp.Or(c.LaneBytes[i], d)
	}
	c.MaxMessage = cmp.Or(c.MaxMessage, DefaultMaxMessage)
	c.MaxIncomplete = cmp.Or(c.MaxIncomplete, max(DefaultMaxIncomplete, 4*c.MaxMessage))
	if c.Held == nil {
		c.Held = budget.New[peer.ID](c.MaxIncomplete)
	}
	if c.Admission == nil {
		c.Admission = openDoor{}
	}
	c.Agent = cmp.Or(c.Agent, "arke")
	c.Logger = cmp.Or(c.Logger, zap.NewNop())
	return c
}

func (c Config) validate() error {
	s := c.Seam
	if s.Transport == nil || s.Router == nil || s.Clock == nil || s.Rand == nil || s.Exec == nil {
		return errors.New("overlay: Config.Seam is incomplete: all five interfaces are required")
	}
	if c.Heartbeat < 10*time.Millisecond || c.Heartbeat > time.Minute {
		return fmt.Errorf("overlay: Config.Heartbeat %v is outside 10ms … 1m", c.Heartbeat)
	}
	for i, n := range c.LaneBytes {
		if n < 0 {
			return fmt.Errorf("overlay: Config.LaneBytes of lane %v is negative", Lane(i))
		}
	}
	if c.MaxMessage < MaxFrameBody || c.MaxMessage > 1<<30 {
		return fmt.Errorf("overlay: Config.MaxMessage %d is outside 64 KiB … 1 GiB", c.MaxMessage)
	}
	if c.MaxIncomplete < 2*c.MaxMessage {
		return fmt.Errorf("overlay: Config.MaxIncomplete %d is less than two messages of Config.MaxMessage", c.MaxIncomplete)
	}
	if len(c.Agent) > wire.MaxText {
		return fmt.Errorf("overlay: Config.Agent is longer than %d bytes", wire.MaxText)
	}
	if len(c.Name) > wire.MaxName || !utf8.ValidString(c.Name) {
		return fmt.Errorf("overlay: Config.Name is longer than %d bytes, or not UTF-8", wire.MaxName)
	}
	return nil
}
