// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/arke-mesh/arke/patterns"
)

// OpenTunnel implements patterns.Messenger. Like Request it still works while
// the node drains.
func (n *Node) OpenTunnel(ctx context.Context, cluster string, first patterns.Message, opts ...patterns.RequestOption) (patterns.Tunnel, error) {
	if err := n.reaches(cluster); err != nil {
		return nil, err
	}
	return n.tunnels.Open(ctx, cluster, first, patterns.CollectOptions(opts))
}
