// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arkehttp

import (
	"context"
	"net"
)

// Dial opens the connection of a request.
func (t *Transport) Dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	return t.dial(ctx, network, hostPort)
}
