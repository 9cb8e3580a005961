// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/arke-mesh/arke/patterns"
)

// Members implements patterns.Messenger. Without a deadline in ctx it has 5 s.
func (n *Node) Members(ctx context.Context, cluster string) ([]patterns.Member, error) {
	if err := n.reaches(cluster); err != nil {
		return nil, err
	}
	return n.requests.Members(ctx, cluster)
}
