// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package door is how node.Join hands its node to package arke, which imports no
// node: as an option of arke.Attach that only packages of this module can make.
package door

import "github.com/arke-mesh/arke/patterns"

// Joined is a messenger that runs already. An option of arke.Attach that embeds
// it, beside a nil arke.AttachOption, makes Attach return a Conn on it; all
// other options have no meaning then.
type Joined struct {
	Messenger patterns.Messenger
	// Addrs are the addresses of the messenger, if it is a node.
	Addrs []string
}

// Inner returns j.
func (j Joined) Inner() Joined { return j }
