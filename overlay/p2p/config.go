// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"

	ma "github.com/multiformats/go-multiaddr"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/nowait"
	"github.com/arke-mesh/arke/security"
)

// Config says who a Host is and where it listens. Zero values mean the
// defaults named at each field.
type Config struct {
	// Key is the identity of the node. Required.
	Key security.NodeKey

	// Network decides who is admitted. Required.
	Network *security.Network

	// Listen are the addresses to accept connections at: multiaddrs such as
	// /ip4/0.0.0.0/tcp/4077, or "host:port" with an IP address or no host,
	// which means every address of the machine. Port 0 takes any free one.
	// Each of them must work, except that IPv6 is left out where the machine
	// has none. Default ":0".
	Listen []string

	// Advertise are the addresses others are told, where they differ from
	// those bound: behind a NAT or in a container. Multiaddrs, or
	// "host:port", where host may be a name.
	Advertise []string

	// MDNS has StartDiscovery look for nodes on the local network.
	MDNS bool

	// DialTimeout bounds one attempt to reach one address, TCP and TLS
	// together. Default 5 s.
	DialTimeout time.Duration

	// HandshakeTimeout bounds the time from an accepted connection to the end
	// of its TLS handshake; under pressure they get less. Default 5 s.
	HandshakeTimeout time.Duration

	// DrainTime bounds how long Close waits for peers to take what was written.
	// Default 500 ms.
	DrainTime time.Duration

	// MaxWaiting bounds the accepted connections that have not shown yet that
	// they hold a key, and, apart from these, those that have and whose
	// handshakes have not begun. They cost about 5 KB and 10 KB each. When
	// there are more, one of the source that has most is closed. Default 4096,
	// and never more than a quarter of the files that the process may open.
	MaxWaiting int

	// MaxHandshakes bounds the handshakes of accepted connections under way at
	// a time. Default 256.
	MaxHandshakes int

	// MaxConns bounds connections in all; idle ones are closed from three
	// quarters of it. Default 4096.
	MaxConns int

	// MaxConnsPerPeer bounds connections with one peer. Two nodes that dial
	// each other at once need two for a while. Default 8.
	MaxConnsPerPeer int

	// MaxStreamsPerPeer bounds the streams one peer has open to here: its link's,
	// and a few of libp2p's, of which each takes up to 32 KiB. Default 16.
	MaxStreamsPerPeer int

	// MaxStreams bounds the streams that all peers together have open to here.
	// Beyond half of it each has its share. Default 16384.
	MaxStreams int

	// MaxHeld bounds what peers have sent and nobody has read, of all connections
	// together, in bytes; what else counts against Held is within it, too. Beyond half
	// of it each peer has its share. A stream that goes further is reset. Each
	// connection has 32 KiB besides. Default 256 MiB.
	MaxHeld int

	// Resolver looks up the names in seeds and addresses. Default
	// net.DefaultResolver.
	Resolver Resolver

	// Sockets is a network in place of the machine's, for simulation; MDNS
	// must be off then. Default nil: TCP of the machine.
	Sockets Sockets

	// Calls are those by which connections are read and written; only for a process in
	// which nobody's code runs. Default: Go's scheduler is told of each.
	Calls *nowait.Calls

	// Logger is named "p2p" here. Nil means no logs.
	Logger *zap.Logger
}

// Resolver looks up names; *net.Resolver is one.
type Resolver interface {
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

func (c Config) withDefaults() Config {
	c.DialTimeout = cmp.Or(c.DialTimeout, 5*time.Second)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, 5*time.Second)
	c.DrainTime = cmp.Or(c.DrainTime, 500*time.Millisecond)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 4096)
	c.MaxHandshakes = cmp.Or(c.MaxHandshakes, 256)
	c.MaxConns = cmp.Or(c.MaxConns, 4096)
	c.MaxConnsPerPeer = cmp.Or(c.MaxConnsPerPeer, 8)
	c.MaxStreamsPerPeer = cmp.Or(c.MaxStreamsPerPeer, 16)
	c.MaxStreams = cmp.Or(c.MaxStreams, 16384)
	c.MaxHeld = cmp.Or(c.MaxHeld, 256<<20)
	c.Logger = cmp.Or(c.Logger, zap.NewNop())
	if c.Sockets == nil {
		c.Sockets = machine{}
	}
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	return c
}

func (c Config) validate() error {
	if c.Key.IsZero() {
		return fmt.Errorf("p2p: Config.Key is missing")
	}
	if c.Network == nil {
		return fmt.Errorf("p2p: Config.Network is missing")
	}
	if c.Sockets != nil && c.MDNS {
		return fmt.Errorf("p2p: Config.MDNS looks for nodes on the machine's networks, not on Config.Sockets")
	}
	for name, d := range map[string]time.Duration{"DialTimeout": c.DialTimeout, "HandshakeTimeout": c.HandshakeTimeout, "DrainTime": c.DrainTime} {
		if d < 0 {
			return fmt.Errorf("p2p: Config.%s is negative", name)
		}
	}
	for name, n := range map[string]int{
		"MaxWaiting": c.MaxWaiting, "MaxHandshakes": c.MaxHandshakes, "MaxConns": c.MaxConns,
		"MaxConnsPerPeer": c.MaxConnsPerPeer, "MaxStreamsPerPeer": c.MaxStreamsPerPeer, "MaxStreams": c.MaxStreams,
		"MaxHeld": c.MaxHeld,
	} {
		if n < 0 {
			return fmt.Errorf("p2p: Config.%s is negative", name)
		}
	}
	return nil
}

// listenAddrs parses Listen.
func (c Config) listenAddrs() ([]ma.Multiaddr, error) {
	texts := c.Listen
	if len(texts) == 0 {
		texts = []string{":0"}
	}
	var addrs []ma.Multiaddr
	for _, text := range texts {
		parsed, err := parseListen(text)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, parsed...)
	}
	return addrs, nil
}

// advertised parses Advertise.
func (c Config) advertised() ([]ma.Multiaddr, error) {
	var addrs []ma.Multiaddr
	for _, text := range c.Advertise {
		s, err := parseSeed(text)
		if err != nil {
			return nil, err
		}
		if s.peer != "" && s.peer != c.Key.PeerID() {
			return nil, fmt.Errorf("%w: advertised %q names another peer", ErrBadAddress, text)
		}
		addrs = append(addrs, s.addr)
	}
	return addrs, nil
}
