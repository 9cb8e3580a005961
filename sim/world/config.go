// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/sim"
)

// Config describes a world. The zero value is usable.
type Config struct {
	// Seed decides the keys of networks and, in Run, everything else.
	Seed uint64
	// Net is the simulated network's; Run fills its Seed in. Default: the
	// defaults of sim.Config.
	Net sim.Config
	// Heartbeat is described at node.Config. Default 400 ms.
	Heartbeat time.Duration
	// Logger is where the nodes log; nil = nowhere.
	Logger *zap.Logger
}
