// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"io"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p/internal/mux"
	"github.com/arke-mesh/arke/security"
)

// Taken is how many bytes the connection of s has taken, whatever their stream.
func Taken(s overlay.Stream) uint64 { return s.(*stream).conn.secure.below.Taken() }

// Knock makes one connection to a host as a peer would, without a host of its
// own: it gets through the handshake, and does nothing after it.
func Knock(ctx context.Context, key security.NodeKey, network *security.Network, addr string) (io.Closer, error) {
	s, err := newSecurer(key.Libp2p(), key.PeerID(), network, security.AdmissionOID(), func() []byte { return nil }, new(counters), zap.NewNop())
	if err != nil {
		return nil, err
	}
	var d manet.Dialer
	raw, err := d.DialContext(ctx, ma.StringCast(addr))
	if err != nil {
		return nil, err
	}
	c, err := s.connect(ctx, raw, "", alpnLink)
	if err != nil {
		return nil, err
	}
	m := mux.New(c, c.below, true, free{})
	go func() { // reads, until the end
		for {
			if _, err := m.Accept(); err != nil {
				return
			}
		}
	}()
	return m, nil
}

// free keeps whatever comes.
type free struct{}

func (free) Take(int) bool { return true }
func (free) Give(int)      {}

// ForeignCore is the core that RouteLogs gives to libp2p, and Folded how many lines it
// remembers.
func ForeignCore(c zapcore.Core) zapcore.Core { return foreignCore{c, &fold{}} }

func Folded(c zapcore.Core) int { return len(c.(foreignCore).fold.seen) }
