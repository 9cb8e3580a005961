// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
)

// arkeSystems are Arke's topics and requests: embedded, beside one relay,
// beside two. Those whose names end in "-free" run without a credit window and
// with the default queue of a subscription: what they lose they say.
func arkeSystems() []System {
	arke := System{
		Name: "arke", About: "embedded nodes, TLS 1.3",
		Topics: true, Requests: true, Balances: true, Credit: true,
		Version: arkeVersion, Start: arkeNetwork, Join: joinArke,
	}
	relay := arke
	relay.Served = true
	relays := relay
	relay.Name, relay.About = "arke-relay", "programs beside one relay (unix socket)"
	relay.Start, relay.Join = arkeRelays(1), joinRelay
	relays.Name, relays.About = "arke-2relays", "program → relay → relay → program, TLS 1.3 between the relays"
	relays.Start, relays.Join = arkeRelays(2), joinRelay
	all := []System{arke, relay, relays}
	for _, s := range all[:3] {
		s.Name, s.About = s.Name+"-free", s.About+", without a credit window"
		s.Credit, s.Requests = false, false
		all = append(all, s)
	}
	return all
}

func arkeVersion() string { return "this tree" }

const arkeLoopback = "/ip4/127.0.0.1/tcp/0"

func arkeKeyFile(dir string) string { return filepath.Join(dir, "network.key") }

// arkeNetwork makes the network's file; nothing runs beside embedded nodes.
func arkeNetwork(site Site) ([]string, error) {
	_, err := site.Run(site.Arke(), "keygen", "--network", "bench", "--out", arkeKeyFile(site.Dir()))
	return nil, err
}

// relayClients is how many clients a relay takes by default, but for some that
// the run itself may need.
const relayClients = 200

// arkeRelays starts count relays; their addresses are the sockets.
func arkeRelays(count int) func(Site) ([]string, error) {
	return func(site Site) (sockets []string, err error) {
		if _, err := arkeNetwork(site); err != nil {
			return nil, err
		}
		var seeds []string
		for i := range count {
			socket := filepath.Join(site.Dir(), fmt.Sprintf("relay%d.sock", i))
			address := site.FreePort()
			argv := []string{
				site.Arke(), "relay", "--key-file", arkeKeyFile(site.Dir()), "--no-mdns",
				"--listen", address, "--socket", socket,
			}
			if clients := site.Clients(); clients > relayClients {
				argv = append(argv, "--max-clients", strconv.Itoa(clients))
			}
			if _, err := site.Launch("arke relay ready ", nil, append(argv, seeds...)...); err != nil {
				return nil, err
			}
			seeds = append(seeds, "--seed", address)
			sockets = append(sockets, socket)
		}
		return sockets, nil
	}
}

// joinArke starts an embedded node. The first one is the seed of the others.
func joinArke(setup Setup) (Seat, error) {
	n, err := startNode(setup)
	if err != nil {
		return nil, err
	}
	return &arkeSeat{arke: n, addr: n.Status().Addrs[0], window: setup.Window}, nil
}

func startNode(setup Setup) (*node.Node, error) {
	text, err := os.ReadFile(arkeKeyFile(setup.Dir))
	if err != nil {
		return nil, err
	}
	network, err := security.ParseNetworkFile(text)
	if err != nil {
		return nil, err
	}
	n, err := node.New(node.Config{Network: network, Listen: []string{arkeLoopback}, Seeds: setup.Peers, NoMDNS: true})
	if err != nil {
		return nil, err
	}
	return n, n.Start(context.Background())
}

func joinRelay(setup Setup) (Seat, error) {
	c, err := client.New(client.Config{Socket: setup.server()})
	if err != nil {
		return nil, err
	}
	return &arkeSeat{arke: c, window: setup.Window}, c.Start(context.Background())
}

// arkeSeat is a program that embeds a node or is attached to a relay.
type arkeSeat struct {
	arke   patterns.Messenger
	addr   string
	window int
}

func (s *arkeSeat) Addr() string { return s.addr }

func (s *arkeSeat) Close() error { return s.arke.Close() }

func (s *arkeSeat) Publisher() (Publisher, error) { return arkePublisher{s.arke}, nil }

type arkePublisher struct{ arke patterns.Messenger }

func (p arkePublisher) Publish(body []byte) error {
	return p.arke.Publish(context.Background(), topic, patterns.Message{Body: body})
}

func (p arkePublisher) Flush() error { return nil }

func (s *arkeSeat) Subscribe(each func(body []byte)) (Subscription, error) {
	sub := &arkeSubscriber{each: each}
	var o patterns.SubscribeOptions
	if s.window > 0 {
		o.QueueLength = 1 << 20
	}
	_, err := s.arke.Subscribe(context.Background(), topic, sub, o)
	return sub, err
}

type arkeSubscriber struct {
	each func(body []byte)
	told atomic.Uint64
}

func (s *arkeSubscriber) ServePublication(p patterns.Publication) { s.each(p.Body) }
func (s *arkeSubscriber) ServeGap(g patterns.Gap)                 { s.told.Add(g.Missed) }
func (s *arkeSubscriber) Told() uint64                            { return s.told.Load() }

func (s *arkeSeat) Requester() (Requester, error) { return arkeRequester{s.arke}, nil }

type arkeRequester struct{ arke patterns.Messenger }

func (r arkeRequester) Request(body []byte) ([]byte, error) {
	m, err := r.arke.Request(context.Background(), service, patterns.Message{Body: body}, patterns.WaitForMember())
	return m.Body, err
}

func (s *arkeSeat) Respond(handle func(body []byte) []byte, handlers int) error {
	_, err := s.arke.Serve(context.Background(), service,
		patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
			return patterns.Message{Body: handle(r.Body)}, nil
		}), patterns.Limits{Concurrency: handlers})
	return err
}
