// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/arke-mesh/arke/patterns"
)

// Request implements patterns.Messenger. It still works while the node drains,
// because handlers that finish what they accepted may need it.
func (n *Node) Request(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error) {
	if err := n.running(); err != nil {
		return patterns.Message{}, err
	}
	return n.requests.Do(ctx, cluster, m, patterns.CollectOptions(opts))
}
