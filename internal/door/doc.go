// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package door is the far side of package arke's options: what they set. With
// it package node gives a node to arke.Attach, although package arke imports
// no node. Programs have no use for it.
package door

import (
	"log/slog"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// Options is what the options of arke.Attach set.
type Options struct {
	// Client says where the relay is.
	Client client.Config
	// Logger is where the client logs; nil = nowhere.
	Logger *slog.Logger

	// Via, if not nil, is a messenger that runs already. Nothing is attached
	// then, and the other fields have no meaning.
	Via patterns.Messenger
	// Addrs are the addresses of Via, if it is a node.
	Addrs []string
}
