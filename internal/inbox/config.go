// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"errors"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// SetConfig is what NewSet needs.
type SetConfig struct {
	// Exec runs subscribers. It must outlive the Set.
	Exec  overlay.Exec
	Clock overlay.Clock
	// Workers bounds the subscribers that run at once, so that slow ones leave
	// workers to others who use the Exec. Default 8,192.
	Workers int
	// Logger is where this package logs; nil = nowhere.
	Logger *zap.Logger
}

func (c SetConfig) withDefaults() SetConfig {
	if c.Workers == 0 {
		c.Workers = 8192
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

func (c SetConfig) validate() error {
	switch {
	case c.Exec == nil || c.Clock == nil:
		return errors.New("inbox: SetConfig needs Exec and Clock")
	case c.Workers < 1:
		return errors.New("inbox: SetConfig.Workers must not be negative")
	}
	return nil
}

// Config is one subscription's inbox.
type Config struct {
	Subscriber patterns.Subscriber
	// Options: QueueLength, QueueBytes and Overflow are used.
	Options patterns.SubscribeOptions
	// Key is the subscription's number: it orders simultaneous work in the
	// simulator, and must be the same in each run.
	Key uint64
}

func (c Config) validate() error {
	switch o := c.Options; {
	case c.Subscriber == nil:
		return errors.New("inbox: Config needs a Subscriber")
	case o.QueueLength < 0 || o.QueueBytes < 0:
		return errors.New("inbox: QueueLength and QueueBytes must not be negative")
	case o.Overflow > patterns.OverflowBlock:
		return errors.New("inbox: Overflow is none of the policies")
	}
	return nil
}
