// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bytes"
	"context"

	"github.com/arke-mesh/arke/patterns"
)

// arkeTunnelSystems are Arke's tunnels, used as a topic of one subscriber: a
// publisher opens a tunnel, and the subscriber's program accepts it. The
// subscriber reads each message into memory that it uses again, as those of the
// bare connections do; in the systems whose names end in "-owned" each message
// is its own, as Receive has it.
func arkeTunnelSystems() []System {
	embedded := System{
		Name: "arke-tunnel", About: "a tunnel between embedded nodes, TLS 1.3, read with ReceiveTo", Tunnels: 16384,
		Version: arkeVersion, Start: arkeNetwork, Join: tunnelSeats(joinArke, receiveAgain),
	}
	relays := embedded
	relays.Name, relays.About = "arke-tunnel-2relays", "a tunnel between programs beside two relays, read with ReceiveTo"
	relays.Start, relays.Join, relays.Tunnels = arkeRelays(2), tunnelSeats(joinRelay, receiveAgain), relayTunnels
	owned, relaysOwned := embedded, relays
	owned.Name, owned.About = "arke-tunnel-owned", "a tunnel between embedded nodes, TLS 1.3, read with Receive: the body is the reader's"
	owned.Join = tunnelSeats(joinArke, receiveOwned)
	relaysOwned.Name, relaysOwned.About = "arke-tunnel-2relays-owned", "a tunnel between programs beside two relays, read with Receive: the body is the reader's"
	relaysOwned.Join = tunnelSeats(joinRelay, receiveOwned)
	return []System{embedded, relays, owned, relaysOwned}
}

// relayTunnels is how many tunnels a client of a relay has room for by default, but
// for some: all of them share 64 MiB there, of which each takes 128 KiB at first,
// or, when three quarters are taken, 8 KiB.
const relayTunnels = 2400

// reading calls each with every message of a tunnel until it ends. The body is
// valid during the call only.
type reading func(ctx context.Context, t patterns.Tunnel, each func(body []byte)) error

// receiveAgain reads all messages into the same memory.
func receiveAgain(ctx context.Context, t patterns.Tunnel, each func(body []byte)) error {
	for body := new(bytes.Buffer); ; body.Reset() {
		if _, err := t.ReceiveTo(ctx, body); err != nil {
			return err
		}
		each(body.Bytes())
	}
}

// receiveOwned reads each message into memory of its own.
func receiveOwned(ctx context.Context, t patterns.Tunnel, each func(body []byte)) error {
	for {
		body, err := t.Receive(ctx)
		if err != nil {
			return err
		}
		each(body)
	}
}

func tunnelSeats(join func(Setup) (Seat, error), read reading) func(Setup) (Seat, error) {
	return func(setup Setup) (Seat, error) {
		seat, err := join(setup)
		if err != nil {
			return nil, err
		}
		return tunnelSeat{seat.(*arkeSeat), read}, nil
	}
}

type tunnelSeat struct {
	*arkeSeat
	read reading
}

// Publisher opens a tunnel, once there is somebody to open it to.
func (s tunnelSeat) Publisher() (Publisher, error) { return &tunnelPublisher{arke: s.arke}, nil }

type tunnelPublisher struct {
	arke   patterns.Messenger
	tunnel patterns.Tunnel
}

func (p *tunnelPublisher) Publish(body []byte) (err error) {
	if p.tunnel == nil {
		p.tunnel, err = p.arke.OpenTunnel(context.Background(), service, patterns.Message{}, patterns.WaitForMember())
		if err != nil {
			return err
		}
	}
	return p.tunnel.Send(context.Background(), body)
}

func (p *tunnelPublisher) Flush() error { return nil }

func (s tunnelSeat) Subscribe(each func(body []byte)) (Subscription, error) {
	receive := func(ctx context.Context, t patterns.Tunnel) error {
		_ = s.read(ctx, t, each) // it ends with the publisher
		return nil
	}
	_, err := s.arke.Serve(context.Background(), service, patterns.Service{Tunnel: receive}, patterns.Limits{})
	return silent{}, err
}
