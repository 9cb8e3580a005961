// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

func (a App) status() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the relay: its peers, links, clusters, clients, queues, and drops",
		Long: `Show the relay: its peers, links, clusters, clients, queues, and drops. Counters
begin with the relay; --json has more of them.

Exit status: 0 it answered, 5 no relay, 8 unauthorized, 1 anything else.`,
		Example: `  arke status
  arke status --json | jq '.links[].peer'`,
		Args: positional(0, 0),
	}
	attachment := a.attachFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return attachment.within(cmd.Context(), patience, func(ctx context.Context, c *client.Client) error {
			return a.showStatus(ctx, c, asJSON)
		})
	}
	return cmd
}

func (a App) showStatus(ctx context.Context, c *client.Client, asJSON bool) error {
	raw, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.Stdout, json.RawMessage(raw))
	}
	var s relayStatus
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("the relay's status makes no sense, is it of another version? %w", err)
	}
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	s.write(t)
	return t.Flush()
}

// relayStatus is what a relay says about itself and its node.
type relayStatus struct {
	node.Status
	Relay relay.Status `json:"relay"`
}

// write prints everything for people, leaving out what is empty.
func (s relayStatus) write(t io.Writer) {
	s.writeNode(t)
	s.writeLinks(t)
	s.writeClusters(t)
	s.writeClients(t)
	s.writeDrops(t)
}

func (s relayStatus) writeNode(t io.Writer) {
	fmt.Fprintf(t, "peer\t%s\n", s.Peer)
	fmt.Fprintf(t, "network\t%s (id %s)\n", s.Network, s.NetworkID)
	fmt.Fprintf(t, "state\t%s\n", s.State)
	if s.Zone != "" {
		fmt.Fprintf(t, "zone\t%s\n", s.Zone)
	}
	fmt.Fprintf(t, "socket\t%s\n", s.Relay.Socket)
	if s.Relay.Listen != "" {
		fmt.Fprintf(t, "clients at\t%s\n", s.Relay.Listen)
	}
	for _, addr := range s.Addrs {
		fmt.Fprintf(t, "address\t%s\n", addr)
	}
	fmt.Fprintf(t, "peers\t%s\n", s.peers())
	fmt.Fprintf(t, "anchor of\t%d leases, %d watches\n", s.Anchors.Leases, s.Anchors.Watches)
	fmt.Fprintf(t, "requests\t%d sent, %d of them retries, %d pending\n", s.Requests.Sent, s.Requests.Retried, s.Requests.Pending)
	fmt.Fprintf(t, "topics\t%d subscriptions; %d published, %d copies sent, %d received\n",
		s.Topics.Subscriptions, s.Topics.Published, s.Topics.Copies, s.Topics.Received)
	fmt.Fprintf(t, "tunnels\t%d opened here, %d served, %d bytes of buffers\n", s.Tunnels.Opened, s.Tunnels.Served, s.Tunnels.BufferBytes)
}

// peers says how many other nodes are known.
func (s relayStatus) peers() string {
	switch {
	case s.Peers == 0:
		return "none found yet"
	case len(s.Links) == 0:
		return fmt.Sprintf("%d known; links open when there is something to say", s.Peers)
	}
	return fmt.Sprintf("%d known", s.Peers)
}

func (s relayStatus) writeLinks(t io.Writer) {
	if len(s.Links) == 0 {
		return
	}
	fmt.Fprintln(t, "\nLINK TO\tSTATE\tRTT\tQUEUED\tADDRESS")
	for _, l := range s.Links {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", l.Peer, l.State, l.RTT.Round(time.Microsecond), counts(l.Queued), l.Addr)
	}
}

func (s relayStatus) writeClusters(t io.Writer) {
	if len(s.Queues) > 0 {
		fmt.Fprintln(t, "\nSERVES\tMEMBER\tRUNNING\tWAITING\tHANDLED")
		for _, q := range s.Queues {
			fmt.Fprintf(t, "%s\t%s\t%d\t%d (%d bytes)\t%d\n", q.Cluster, q.Member, q.Running, q.Waiting, q.Bytes, q.Handled)
		}
	}
	if len(s.Watches) > 0 {
		fmt.Fprintln(t, "\nCALLS\tMEMBERS")
		for _, w := range s.Watches {
			fmt.Fprintf(t, "%s\t%d\n", w.Cluster, w.Members)
		}
	}
}

func (s relayStatus) writeClients(t io.Writer) {
	fmt.Fprintln(t, "\nCLIENT\tSERVES\tREQUESTS\tDELIVERIES\tSUBSCRIPTIONS\tTUNNELS\tUNREAD BYTES")
	for _, c := range s.Relay.Clients {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", c.Name, dash(strings.Join(c.Clusters, " ")), c.Requests, c.Deliveries, c.Subscriptions, c.Tunnels, c.Queued)
	}
}

func (s relayStatus) writeDrops(t io.Writer) {
	drops := s.drops()
	if len(drops) == 0 {
		return
	}
	fmt.Fprintln(t, "\nDROPPED\tCOUNT")
	for _, reason := range slices.Sorted(maps.Keys(drops)) {
		fmt.Fprintf(t, "%s\t%d\n", reason, drops[reason])
	}
}

// drops returns the counters of node and relay that are not zero.
func (s relayStatus) drops() map[string]uint64 {
	all := maps.Clone(s.Drops)
	if all == nil {
		all = map[string]uint64{}
	}
	for reason, n := range s.Relay.Drops {
		all["relay."+reason] = n
	}
	maps.DeleteFunc(all, func(_ string, n uint64) bool { return n == 0 })
	return all
}

// counts writes a map of counters as one word.
func counts(m map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s=%d", k, m[k]))
	}
	return dash(strings.Join(parts, ","))
}

// dash stands where there is nothing.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
