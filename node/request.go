// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
)

// Request implements patterns.Messenger. It still works while the node drains,
// because handlers that finish what they accepted may need it.
func (n *Node) Request(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error) {
	if err := n.reaches(cluster); err != nil {
		return patterns.Message{}, err
	}
	return n.requests.Do(ctx, cluster, m, patterns.CollectOptions(opts))
}

// reaches returns why nothing can be sent to the cluster, if so.
func (n *Node) reaches(name string) error {
	if err := n.running(); err != nil {
		return err
	}
	return checkName(name)
}

// topicPrefix begins the names of the clusters that are groups of topics.
const topicPrefix = "topic:"

// checkName refuses the names of groups of topics: their members are nodes that
// subscribe, not services.
func checkName(name string) error {
	if strings.HasPrefix(name, topicPrefix) {
		return fmt.Errorf("%w: %q: names that begin with %q are those of topics", cluster.ErrName, name, topicPrefix)
	}
	return nil
}
