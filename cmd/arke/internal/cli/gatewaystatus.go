// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/admin"
	"github.com/arke-mesh/arke/internal/nodename"
	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/patterns"
)

func gatewayStatusCommand(a App) *cobra.Command {
	var file gatewayFile
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status --config FILE",
		Short: "Show a gateway: its networks, what it lends, what crosses and what was refused",
		Long: `Show a gateway: its networks, what it lends, what crosses and what was refused. The
command asks the running gateway at the admin address that its configuration names, or
--admin. Counters start at 0 when the gateway starts. TRIP is the way there and back
behind the gateway, without the handler's time.

` + exits("it answered", end{patterns.OutcomeUnreachable, "no gateway"}),
		Example: `  arke gateway status --config /etc/arke/gateway.yaml
  arke gateway status --config /etc/arke/gateway.yaml --json | jq .crossings`,
		RunE: func(cmd *cobra.Command, _ []string) error { return showGateway(a, cmd, &file, asJSON) },
	}
	file.declareOn(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	settings.FlagOnly(cmd.Flags(), "json")
	return cmd
}

func showGateway(a App, cmd *cobra.Command, file *gatewayFile, asJSON bool) error {
	if err := file.read(cmd.Flags()); err != nil {
		return ended(patterns.OutcomeOther, "%s", strings.Join(linesOf(err), "\n"))
	}
	at, err := file.admin.config()
	if err != nil {
		return err
	}
	if at.Address == "" {
		return ended(patterns.OutcomeUnreachable, "%s has no admin address: add a line such as 'admin: :9900', and start the gateway again", file.name)
	}
	text, err := adminText(cmd.Context(), at, "/status.json")
	if err != nil {
		return ended(patterns.OutcomeUnreachable, "no gateway answers at %s: %v: start it with 'arke gateway --config %s'", at.Address, err, file.name)
	}
	if asJSON {
		return writeJSON(a.Stdout, json.RawMessage(text))
	}
	var s gateway.Status
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("the gateway's status makes no sense, is it of another version? %w", err)
	}
	return writeGateway(a.Stdout, &s)
}

// adminText fetches a page of an admin address.
func adminText(ctx context.Context, at admin.Config, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	kind, addr, host := "tcp", at.Address, at.Address
	if socket, ok := strings.CutPrefix(addr, "unix:"); ok {
		kind, addr, host = "unix", socket, "gateway"
	}
	var dialer net.Dialer
	web := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, kind, addr) },
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		return nil, err
	}
	if at.Token != "" {
		r.Header.Set("Authorization", "Bearer "+at.Token)
	}
	reply, err := web.Do(r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil, errors.New(reply.Status)
	}
	return io.ReadAll(io.LimitReader(reply.Body, 64<<20))
}

// writeGateway prints a gateway's status for people.
func writeGateway(w io.Writer, s *gateway.Status) error {
	t := newTable(w)
	t.row("NETWORK", "NODE", "PEERS", "ADDRESSES")
	for _, n := range s.Networks {
		t.row(n.Name, nodename.Of(n.Node.Name, n.Node.Peer), peersText(&n), strings.Join(n.Node.Addrs, " "))
	}
	t.gap()
	t.row("LENT", "FROM", "TO", "AS", "PRIORITY", "STATE", "MEMBERS", "MESSAGES", "BYTES", "IN FLIGHT", "TUNNELS", "TRIP", "REFUSED")
	for i := range s.Crossings {
		x := &s.Crossings[i]
		trip := "-"
		if x.RoundTrip > 0 {
			trip = x.RoundTrip.Round(10 * time.Microsecond).String()
		}
		t.row(x.Cluster, x.From, x.To, x.As, x.Priority, crossingState(x), fmt.Sprintf("%d/%d", x.Usable, x.Members),
			x.Messages, x.Bytes, x.InFlight, x.Tunnels, trip, refusedText(x.Refused))
	}
	for _, x := range s.Patterns {
		t.row(x.Cluster, x.From, x.To, x.As, "-", "for "+plural.Of(x.Clusters, "cluster")+" now", "-", "-", "-", "-", "-", "-", refusedText(x.Refused))
	}
	if len(s.Crossings)+len(s.Topics)+len(s.Patterns) == 0 {
		t.row("nothing")
	}
	writeTopics(t, s)
	return t.flush()
}

// peersText says how many nodes of a network are known, and whether any is heard.
func peersText(n *gateway.NetworkStatus) string {
	if n.CutOff {
		return fmt.Sprintf("%d, cut off", n.Node.Peers)
	}
	return strconv.Itoa(n.Node.Peers)
}

// crossingState says in a few words whether it is lent.
func crossingState(x *gateway.CrossingStatus) string {
	switch {
	case x.Error != "":
		return "failing: " + x.Error
	case x.Lent && x.Usable == 0:
		return "lent as suspect: none of its members can be reached"
	case x.Lent:
		return "lent"
	case x.Members == 0:
		return "no member in " + x.From
	}
	return "none of its members can be reached"
}

// refusedText lists why how much was refused, by reason.
func refusedText(refused map[string]uint64) string {
	return counts(refused, "%s %d", ", ")
}
