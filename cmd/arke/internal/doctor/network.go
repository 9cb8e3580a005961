// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	ma "github.com/multiformats/go-multiaddr"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/internal/reason"
	"github.com/arke-mesh/arke/relay"
)

// seed says whether the name of a seed resolves, and whether somebody listens there.
// Whether that is a node of the network is asked later.
func seed(ctx context.Context, text string, patience time.Duration) Finding {
	check := "seed " + text
	host, port, err := hostPort(text)
	if err != nil {
		return problem(check, "write HOST:PORT, or a multiaddr like /ip4/10.0.0.7/tcp/7400", "%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		var name *net.DNSError
		if errors.As(err, &name) {
			err = errors.New(name.Err)
		}
		return problem(check, "correct the name, or the resolver of this machine", "the name %s does not resolve: %v", host, err)
	}
	var failed []string
	for _, a := range addrs {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(a, port))
		if err == nil {
			c.Close()
			return ok(check, "somebody listens at %s", net.JoinHostPort(a, port))
		}
		failed = append(failed, net.JoinHostPort(a, port)+": "+reason.OfDial(err))
	}
	return problem(check, "start the relay there, open its port in the firewall, or correct the address", "%s", strings.Join(failed, "; "))
}

// hostPort takes the host and the port out of a seed.
func hostPort(text string) (host, port string, err error) {
	if !strings.HasPrefix(text, "/") {
		return net.SplitHostPort(text)
	}
	a, err := ma.NewMultiaddr(text)
	if err != nil {
		return "", "", err
	}
	for _, code := range []int{ma.P_IP4, ma.P_IP6, ma.P_DNS, ma.P_DNS4, ma.P_DNS6} {
		if v, err := a.ValueForProtocol(code); err == nil {
			if port, err = a.ValueForProtocol(ma.P_TCP); err != nil {
				return "", "", fmt.Errorf("%s has no /tcp/PORT", text)
			}
			return v, port, nil
		}
	}
	return "", "", fmt.Errorf("%s has no host", text)
}

// visit joins the network for some seconds, and says how that went.
func visit(ctx context.Context, cfg Config) []Finding {
	n, err := node.New(node.Config{
		Network: cfg.Network, Listen: []string{"/ip4/0.0.0.0/tcp/0"}, Seeds: cfg.Seeds, NoMDNS: cfg.NoMDNS, Name: "arke doctor",
	})
	if err != nil {
		return []Finding{problem("network", "correct the configuration", "%v", err)}
	}
	defer n.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := n.Start(ctx); err != nil {
		return []Finding{problem("network", "correct the configuration", "%v", err)}
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	defer func() { _ = n.Shutdown(context.WithoutCancel(ctx)) }() // so that peers do not miss it
	asked := false
	for {
		switch s := n.Status(); {
		case s.Peers > 0 && !asked:
			// Peers say their names, clocks and versions where there are links.
			asked = true
			_, _ = n.Members(ctx, "arke.doctor")
			continue
		case (asked || len(s.Seeds) == 0 && cfg.NoMDNS) && decided(s):
			return network(s, "this machine")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return network(n.Status(), "this machine")
		}
	}
}

// decided says whether it is known of every seed how it is.
func decided(s node.Status) bool {
	for _, one := range s.Seeds {
		if one.State == "trying" {
			return false
		}
	}
	return true
}

// network says how a node is that runs: its seeds, its peers, its clock.
func network(s node.Status, who string) (found []Finding) {
	for _, one := range s.Seeds {
		check := "admission by " + one.Addr
		switch {
		case one.State == "self" && one.Error != "":
			found = append(found, ok(check, "it is %s itself; another address of it fails: %s", who, one.Error))
		case one.State == "self":
			found = append(found, ok(check, "it is %s itself", who))
		case one.State == "reached":
			found = append(found, ok(check, "%s holds a key of its network", who))
		case strings.Contains(one.Error, "another network key"):
			found = append(found, problem(check, "compare the network files: 'arke status' shows the id of each; the log of the other side says who knocks", "%s", one.Error))
		case strings.Contains(one.Error, "turned away"):
			found = append(found, problem(check, whyTurnedAway, "%s", one.Error))
		case strings.Contains(one.Error, "another node answers"):
			found = append(found, problem(check, "correct the peer id in --seed, or leave it out", "%s", one.Error))
		case one.Error != "":
			found = append(found, problem(check, "start the relay there, or correct --seed", "%s", one.Error))
		default:
			found = append(found, warning(check, "try again", "not reached yet"))
		}
	}
	if s.TurnedAway != "" {
		found = append(found, problem("peers", whyTurnedAway, "%s", s.TurnedAway))
	} else if s.Peers == 0 {
		found = append(found, warning("peers", "name a --seed of another machine, or see to mDNS", "%s has found nobody: it is alone in network %q (id %s)", who, s.Network, s.NetworkID))
	} else {
		found = append(found, ok("peers", "%s knows %s in network %q", who, plural.Of(s.Peers, "node"), s.Network))
	}
	if s.TurnedAway == "" && s.Doubt != "" {
		found = append(found, warning("views", "see to the seeds and the network: until then calls of unknown services are unreachable", "%s", s.Doubt))
	}
	return append(found, clock(s), versions(s))
}

// whyTurnedAway is what to look at where other nodes do not let this one in.
const whyTurnedAway = "see the log of the other side: a ban, a certificate that is missing, over or revoked, or a key whose time is over"

// clock says whether the clock agrees with those of peers.
func clock(s node.Status) Finding {
	switch err := s.Clock.Err(); {
	case err != nil:
		return problem("clock", "set the clock right, by NTP: nodes more than 15 minutes apart do not find each other's members", "%v", err)
	case s.Clock.Of == 0:
		return skipped("clock", "there are no links to compare it with")
	}
	return ok("clock", "compared with %s", plural.Of(s.Clock.Of, "peer"))
}

// certificate says whether others take the node's certificate, and how long.
func certificate(s node.Status, now time.Time) Finding {
	c := s.Certificate
	until := c.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case c.Mode == "" || c.Mode == "shared":
		return skipped("certificate", "this network needs none")
	case c.Fault != "":
		return problem("certificate", "have another one made with 'arke authority sign' or 'renew'", "other nodes refuse this one: %s", c.Fault)
	case c.Name == "":
		return warning("certificate", "have one made with 'arke authority sign', before the network requires it", "there is none")
	case c.RenewalFault != "":
		return warning("certificate", "see that 'arke authority serve' runs; 'arke authority renew' does it by hand", "it ends at %s and could not be renewed: %s", until, c.RenewalFault)
	case c.NextRenewal.IsZero() && c.NotAfter.Sub(now) < soon:
		return warning("certificate", "run 'arke authority renew', or sign it with --renew-for", "it ends at %s, and is renewed by hand", until)
	}
	return ok("certificate", "%s is good until %s", c.Name, until)
}

// soon is when a certificate that nobody renews ends for people to be told.
const soon = 72 * time.Hour

// versions says whether all peers run the same Arke.
func versions(s node.Status) Finding {
	peers := map[string]int{}
	for _, l := range s.Links {
		if l.Agent != "" {
			peers[l.Agent]++
		}
	}
	switch {
	case len(peers) == 0:
		return skipped("versions", "there are no links")
	case len(peers) == 1:
		return ok("versions", "all peers that are linked run the same")
	}
	var all []string
	for _, agent := range slices.Sorted(maps.Keys(peers)) {
		all = append(all, fmt.Sprintf("%s (%d)", agent, peers[agent]))
	}
	return warning("versions", "bring all to one version", "different ones: %s", strings.Join(all, ", "))
}

// clients says which programs hang.
func clients(s relay.Status) Finding {
	if len(s.Full) > 0 {
		f := s.Full[0]
		return problem("programs", "end some, which 'arke status' shows, or start the relay with a larger --max-clients",
			"the relay is full: %s has %d of %d clients", f.From, f.Clients, f.Limit)
	}
	var hang []string
	for _, c := range s.Clients {
		if c.Silent {
			hang = append(hang, c.Name)
		}
	}
	if len(hang) > 0 {
		return warning("programs", "look at what they do, and start them again", "attached, and hanging: %s", strings.Join(hang, ", "))
	}
	return ok("programs", "none that is attached hangs")
}

// drops lists what a relay that runs has dropped.
func drops(s node.Status) Finding {
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(s.Drops)) {
		if n := s.Drops[reason]; n > 0 && reason != "p2p.probes" { // nothing is wrong with these
			all = append(all, fmt.Sprintf("%s %d", reason, n))
		}
	}
	if len(all) == 0 {
		return ok("drops", "nothing was dropped since the start")
	}
	return warning("drops", "'arke status' shows them with their load", "since the start: %s", strings.Join(all, ", "))
}
