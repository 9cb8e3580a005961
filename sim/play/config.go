// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/patterns"
)

// Options says how a scenario is played. The zero value is usable.
type Options struct {
	// Handlers are those of the program that runs the simulation, by the name
	// that scenarios use for them (handler: {kind: go, name: …}). They answer
	// with whatever they like; the player does not look at it.
	Handlers map[string]patterns.Handler
	// Until ends the run early, at that time since History.Start. Default: the
	// scenario's end.
	Until time.Duration
	// Progress is called about once a second of the level's time. It must not
	// block.
	Progress func(now, end time.Duration)
	// Logger is where the player logs; nil = nowhere.
	Logger *zap.Logger
}

const (
	stagger         = time.Millisecond       // between the starts of two nodes in the warm-up
	warmUpLimit     = 60 * time.Second       // for a network to stand
	warmUpLook      = 50 * time.Millisecond  // between two looks whether it does
	probeEvery      = 250 * time.Millisecond // of each caller and cluster in the liveness phase
	probeWithin     = 2 * time.Second        // deadline of a probe
	stopWithin      = 15 * time.Second       // for a node to drain
	lookWithin      = 500 * time.Millisecond // for a view that is not known yet
	graceAtEnd      = 2 * time.Second        // after the last deadline
	defaultWait     = 5 * time.Second        // deadline of a request
	defaultBody     = 100                    // bytes
	defaultMessages = 100                    // of a tunnel
	subscribeWithin = 10 * time.Second       // for a subscription to be acknowledged
	defaultCalm     = 10 * time.Second       // liveness phase
	handlerGrain    = time.Millisecond       // what a handler without work of its own takes when its node is slow
)
