// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// Defaults of Config.
const (
	DefaultBufferBytes = 256 << 20
	DefaultMaxOpen     = 65536
)

// Config is what New needs. Everything but the limits, Seal and Logger is
// required; a client, which seals nothing, needs no Keys, Rand and Incarnation.
type Config struct {
	// Links reaches the other nodes. Of a client it has one link, to its relay,
	// which it returns for every peer.
	Links request.Links
	// Ask asks a member: request.Engine.Ask. It is not called before Open is.
	Ask func(ctx context.Context, a request.Ask) (request.Answer, error)
	// Keys returns the keys of a cluster; never nil. It must not block. Without
	// it nothing is sealed.
	Keys func(name string) *security.Cluster

	Clock overlay.Clock
	Rand  overlay.Rand
	// Exec runs handlers. It must outlive the Engine.
	Exec overlay.Exec

	// Incarnation is larger at each start of this node.
	Incarnation uint64
	// Seal says when to seal. Default: request.SealAuto.
	Seal request.Seal

	// BufferBytes bounds what all tunnels of this node may have received and
	// not read, together, in bytes. A new tunnel takes 64 KiB of it, or 512
	// bytes when three quarters are taken; an idle one gives back all but that.
	// At least 64 KiB. Default 256 MiB.
	BufferBytes int
	// MaxOpen bounds the tunnels that were opened here. Default 65,536. How
	// many each member accepts is up to its patterns.Limits.
	MaxOpen int

	// MaxHandlers bounds the handlers of tunnels that run at once, so that they
	// leave some of Exec's workers to others. Tunnels beyond it are refused as
	// overloaded. Default: what Exec allows.
	MaxHandlers int

	// Logger is where this package logs; nil = nowhere.
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	c.BufferBytes = cmp.Or(c.BufferBytes, DefaultBufferBytes)
	c.MaxOpen = cmp.Or(c.MaxOpen, DefaultMaxOpen)
	c.Logger = cmp.Or(c.Logger, zap.NewNop())
	return c
}

func (c Config) validate() error {
	switch {
	case c.Links == nil || c.Ask == nil:
		return errors.New("tunnel: Config needs Links and Ask")
	case c.Clock == nil || c.Exec == nil:
		return errors.New("tunnel: Config needs Clock and Exec")
	case c.Keys != nil && (c.Rand == nil || c.Incarnation == 0):
		return errors.New("tunnel: Config needs Rand and Incarnation to seal")
	case c.BufferBytes < credit.FirstWindow:
		return fmt.Errorf("tunnel: Config.BufferBytes %d is less than %d", c.BufferBytes, credit.FirstWindow)
	case c.MaxOpen < 0:
		return fmt.Errorf("tunnel: Config.MaxOpen %d is negative", c.MaxOpen)
	}
	return nil
}
