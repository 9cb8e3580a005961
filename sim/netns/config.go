// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"
)

// Mode is how the nodes are joined.
type Mode string

const (
	// Namespaces gives each node a network namespace and moves IP packets
	// between them. It takes Linux, root and /dev/net/tun.
	Namespaces Mode = "namespaces"
	// Proxies has every node on loopback, behind a proxy that delays what
	// passes. It takes Linux.
	Proxies Mode = "proxies"
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
	// Mode is how the nodes are joined. Default: Namespaces where that is
	// possible, else Proxies.
	Mode Mode
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
	switch {
	case c.Binary == "":
		return errors.New("netns: Config.Binary is required: where is the arke program?")
	case c.Mode != "" && c.Mode != Namespaces && c.Mode != Proxies:
		return fmt.Errorf("netns: Config.Mode %q is neither %q nor %q", c.Mode, Namespaces, Proxies)
	}
	if _, err := os.Stat(c.Binary); err != nil {
		return fmt.Errorf("netns: Config.Binary: %w", err)
	}
	return nil
}

// Supported says why this level can't run here; nil if it can, in one of the
// modes. Probe tells about each of them.
func Supported() error {
	if Probe(Namespaces) == nil {
		return nil
	}
	return Probe(Proxies)
}

// Probe says why a mode can't be had here; nil if it can.
func Probe(m Mode) error {
	if m == Namespaces {
		return probeNamespaces()
	}
	return probeProxies()
}
