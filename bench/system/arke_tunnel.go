// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"

	"github.com/arke-mesh/arke/patterns"
)

// arkeTunnelSystems are Arke's tunnels, used as a topic of one subscriber: a
// publisher opens a tunnel, and the subscriber's program accepts it.
func arkeTunnelSystems() []System {
	embedded := System{
		Name: "arke-tunnel", About: "a tunnel between embedded nodes, TLS 1.3", Tunnels: true,
		Version: arkeVersion, Start: arkeNetwork, Join: tunnelSeats(joinArke),
	}
	relays := embedded
	relays.Name, relays.About = "arke-tunnel-2relays", "a tunnel between programs beside two relays"
	relays.Start, relays.Join = arkeRelays(2), tunnelSeats(joinRelay)
	return []System{embedded, relays}
}

func tunnelSeats(join func(Setup) (Seat, error)) func(Setup) (Seat, error) {
	return func(setup Setup) (Seat, error) {
		seat, err := join(setup)
		if err != nil {
			return nil, err
		}
		return tunnelSeat{seat.(*arkeSeat)}, nil
	}
}

type tunnelSeat struct{ *arkeSeat }

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
		for {
			body, err := t.Receive(ctx)
			if err != nil {
				return nil //nolint:nilerr // the publisher is gone
			}
			each(body)
		}
	}
	_, err := s.arke.Serve(context.Background(), service, patterns.Service{Tunnel: receive}, patterns.Limits{})
	return silent{}, err
}
