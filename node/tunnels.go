// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/patterns"
)

// OpenTunnel implements patterns.Messenger.
func (n *Node) OpenTunnel(ctx context.Context, cluster string, first patterns.Message, opts ...patterns.RequestOption) (patterns.Tunnel, error) {
	return nil, errors.ErrUnsupported
}
