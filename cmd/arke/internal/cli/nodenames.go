// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/internal/nodename"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// nodeNames are what people call nodes, by peer id.
type nodeNames map[string]string

// node writes a node for people.
func (n nodeNames) node(peer string) string { return nodename.Of(n[peer], peer) }

// namesTime is how long is waited for names: without them peer ids tell nodes apart.
const namesTime = 500 * time.Millisecond

// namer asks a relay for names.
type namer func(ctx context.Context, peers ...string) (map[string]string, error)

func relayNames(c *client.Client) namer {
	return func(ctx context.Context, peers ...string) (map[string]string, error) {
		return client.Names(ctx, c, peers...)
	}
}

// namesOf asks for the names of nodes, also where ctx has ended.
func namesOf(ctx context.Context, from namer, peers ...string) nodeNames {
	if len(peers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), namesTime)
	defer cancel()
	names, err := from(ctx, peers...)
	if err != nil {
		return nil
	}
	return names
}

// namesOfMissing asks for the names of the nodes of members that are missing.
func namesOfMissing(ctx context.Context, from namer, missing []patterns.Missing) nodeNames {
	peers := make([]string, 0, len(missing))
	for _, m := range missing {
		peers = append(peers, m.Peer)
	}
	return namesOf(ctx, from, peers...)
}
