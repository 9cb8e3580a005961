// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// Config says where the relay is. Exactly one of Socket and Address is
// required; every other zero value means the default named at the field.
type Config struct {
	// Socket is the path of the relay's unix socket, see DefaultSocket.
	Socket string
	// Address is the relay's loopback "host:port"; Token is what it was
	// started with.
	Address string
	Token   string

	// Name is what the client calls itself in the relay's logs and status; at
	// most 255 bytes. Default: the name of the program.
	Name string
	// RelayWait is how long a call waits for a relay that is gone to come
	// back, before it fails with patterns.ErrUnreachable; the call's own
	// deadline may end it sooner. Default 2 s.
	RelayWait time.Duration
	// Logger is where the client logs; nil = nowhere.
	Logger *zap.Logger
}

// DefaultSocket is where relay and client meet unless told otherwise:
// arke/relay.sock in the user's runtime directory (usually $XDG_RUNTIME_DIR),
// or, if that is "", in a directory of the user's own among the temporary
// files.
func DefaultSocket(runtimeDir string) string {
	if runtimeDir != "" {
		return filepath.Join(runtimeDir, "arke", "relay.sock")
	}
	return filepath.Join(os.TempDir(), "arke-"+strconv.Itoa(os.Getuid()), "relay.sock")
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		name := filepath.Base(os.Args[0])
		c.Name = name[:min(len(name), session.MaxName)]
	}
	if c.RelayWait == 0 {
		c.RelayWait = 2 * time.Second
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Socket == "" && c.Address == "":
		return errors.New("client: Config.Socket or Config.Address is required: where is the relay? DefaultSocket says where it usually is")
	case c.Socket != "" && c.Address != "":
		return errors.New("client: Config.Socket and Config.Address exclude each other")
	case len(c.Token) > session.MaxToken:
		return fmt.Errorf("client: Config.Token is longer than %d bytes", session.MaxToken)
	case len(c.Name) > session.MaxName:
		return fmt.Errorf("client: Config.Name is longer than %d bytes", session.MaxName)
	case c.RelayWait < 0:
		return errors.New("client: Config.RelayWait must be positive")
	}
	return nil
}

// target names the relay for people.
func (c Config) target() string {
	if c.Socket != "" {
		return c.Socket
	}
	return c.Address
}
