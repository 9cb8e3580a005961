// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/arke-mesh/arke/sim/play"
)

// gatewayReady begins the line of a gateway that serves.
const gatewayReady = "arke gateway ready "

// bridge runs a gateway: one process at one site, with a port for each of its networks.
func (p *place) bridge(ctx context.Context, cfg Config, spec play.NodeSpec, seeds [][]string) (*participant, error) {
	file, err := p.writeGateway(spec.Gateway, seeds)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(cfg.Binary, "gateway", "--config", file, "--log-level", cfg.LogLevel)
	cmd.Env = withoutArke(os.Environ())
	return p.launch(ctx, cmd, gatewayReady, func(process *process, ready readyLine) (*participant, error) {
		life := &participant{process: process, peers: make(map[string]string)}
		for name, n := range ready.Networks {
			life.peers[name] = n.Peer
		}
		return life, nil
	})
}

// writeGateway writes the configuration of a gateway and the files of its networks, and
// returns where the first one is.
func (p *place) writeGateway(spec *play.GatewaySpec, seeds [][]string) (string, error) {
	var b strings.Builder
	b.WriteString("networks:\n")
	for i, n := range spec.Networks {
		key := filepath.Join(p.dir, n.Name+".key")
		if err := os.WriteFile(key, n.File.Encode(), 0o600); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "  %s:\n    key-file: %q\n    data-dir: %q\n    no-mdns: true\n    listen: [%q]\n",
			n.Name, key, filepath.Join(p.dir, "data-"+n.Name), p.site.listen(i))
		for j, seed := range seeds[i] {
			if j == 0 {
				b.WriteString("    seed:\n")
			}
			fmt.Fprintf(&b, "      - %q\n", seed)
		}
	}
	b.WriteString("lend:\n")
	for _, l := range spec.Lend {
		if l.Topic != "" {
			fmt.Fprintf(&b, "  - {topic: %q, from: %s, to: %s, as: %q, reseal: true, messages-per-second: %d, bytes-per-second: %d}\n",
				l.Topic, l.From, l.To, l.Called(), l.Messages, int(l.Bytes))
			continue
		}
		fmt.Fprintf(&b, "  - {cluster: %q, from: %s, to: %s, as: %q, priority: %d, transit: %t, reseal: true, messages-per-second: %d, bytes-per-second: %d, in-flight: %d, tunnels: %d}\n",
			l.Cluster, l.From, l.To, l.Called(), l.Priority, l.Transit, l.Messages, int(l.Bytes), l.InFlight, l.Tunnels)
	}
	file := filepath.Join(p.dir, "gateway.yaml")
	return file, os.WriteFile(file, []byte(b.String()), 0o600)
}
