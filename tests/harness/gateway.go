// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// GatewayNode is the node of a gateway in one network.
type GatewayNode struct {
	Name    string // what the other networks call the network
	Network *Network
	Listen  string // multiaddr
	Seed    string
	Keys    string // file of the keys of a cluster; "" = none
}

// Gateway is one `arke gateway`.
type Gateway struct {
	*Process
	t     TB
	nodes []GatewayNode
	dir   string
}

// NewGateway starts a gateway on loopback between networks with a relay each. keys is a
// file of the keys of a cluster, if it is to have some. lend has a line of YAML for each
// crossing.
func NewGateway(t TB, relays map[string]*Relay, keys string, lend ...string) *Gateway {
	t.Helper()
	var nodes []GatewayNode
	for name, r := range relays {
		nodes = append(nodes, GatewayNode{name, r.network, "/ip4/127.0.0.1/tcp/0", r.Addr(), keys})
	}
	return startGateway(t, "gateway", func(argv []string) []string { return argv }, nodes, lend)
}

func startGateway(t TB, name string, place func([]string) []string, nodes []GatewayNode, lend []string) *Gateway {
	t.Helper()
	g := &Gateway{t: t, nodes: nodes, dir: Folder(t)}
	g.Lends(lend...)
	g.Process = spawn(t, "gateway "+name, "arke gateway ready ", nil, place([]string{Binary(t), "gateway", "--config", g.Config()})...)
	g.waitReady()
	return g
}

// Config is the path of its configuration.
func (g *Gateway) Config() string { return filepath.Join(g.dir, "gateway.yaml") }

func (g *Gateway) admin() string { return filepath.Join(g.dir, "admin") }

// Page asks the gateway's admin address, and returns status and body in one text.
func (g *Gateway) Page(path string) (string, error) { return pageAt(g.admin(), path) }

// GatewayStatus is what a gateway says about itself, as far as the tests look.
type GatewayStatus struct {
	Crossings []GatewayCrossing `json:"crossings"`
	Topics    []GatewayCrossing `json:"topics"`
}

// GatewayCrossing is what it says about a crossing, of a cluster or of topics.
type GatewayCrossing struct {
	Cluster  string         `json:"cluster"`
	Messages int            `json:"messages"`
	Refused  map[string]int `json:"refused"`
}

// Status asks the gateway.
func (g *Gateway) Status() (s GatewayStatus) {
	g.t.Helper()
	must(g.t, json.Unmarshal([]byte(g.Shows("--json")), &s))
	return s
}

// Shows is what `arke gateway status` prints of it.
func (g *Gateway) Shows(flags ...string) string {
	g.t.Helper()
	return Run(g.t, append([]string{"gateway", "status", "--config", g.Config()}, flags...)...).Ends(0).Stdout
}

// Lends writes another list of what is lent into its configuration.
func (g *Gateway) Lends(lend ...string) {
	g.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "admin: unix:%s\nnetworks:\n", g.admin())
	for _, n := range g.nodes {
		fmt.Fprintf(&text, "  %s:\n    key-file: %s\n    listen: [%s]\n    no-mdns: true\n    seed: [\"%s\"]\n    data-dir: %s\n",
			n.Name, n.Network.Key(), n.Listen, n.Seed, filepath.Join(g.dir, n.Name))
		if n.Keys != "" {
			fmt.Fprintf(&text, "    cluster-key-file: [%s]\n", n.Keys)
		}
	}
	text.WriteString("lend:\n")
	for _, x := range lend {
		text.WriteString("  - {" + x + ", reseal: true}\n")
	}
	must(g.t, os.WriteFile(g.Config(), []byte(text.String()), 0o600))
}
