// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/sim/link"
)

// Config describes a stack. The zero value is usable.
type Config struct {
	// Seed decides the nodes' keys and randomness, and what links do.
	Seed uint64
	// Link is that of all pairs until SetLinks says more. Default: 5 ms and up
	// to 1 ms of jitter, without loss or bottleneck.
	Link link.Model
	// Heartbeat is described at node.Config. Default 400 ms.
	Heartbeat time.Duration
	// Logger is where the nodes log; nil = nowhere.
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	if c.Link == (link.Model{}) {
		c.Link = link.Model{Latency: 5 * time.Millisecond, Jitter: time.Millisecond}
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}
