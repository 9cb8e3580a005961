// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"
)

// Config says what runs and where. Binary is required; every other zero value
// means the default named at the field.
type Config struct {
	// Seed decides which packets are lost and how much each is delayed.
	Seed uint64
	// Binary is the path of the arke program. Required.
	Binary string
	// Dir is where the nodes' data and logs are kept: a folder for each node.
	// It must not hold those of another run. Default: a temporary folder that
	// Close removes.
	Dir string
	// LogLevel is that of the relays. Default "warn".
	LogLevel string
	// Logger is where the level itself logs; nil = nowhere.
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	if c.LogLevel == "" {
		c.LogLevel = "warn"
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

func (c Config) validate() error {
	if c.Binary == "" {
		return errors.New("netns: Config.Binary is required: where is the arke program?")
	}
	if _, err := os.Stat(c.Binary); err != nil {
		return fmt.Errorf("netns: Config.Binary: %w", err)
	}
	return nil
}
