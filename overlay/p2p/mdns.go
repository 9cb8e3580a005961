// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import "github.com/arke-mesh/arke/overlay"

// StartDiscovery looks for nodes of this network on the local network, if
// Config.MDNS is set, until Close. add is called for each node found.
func (h *Host) StartDiscovery(add func(overlay.Candidate)) error {
	_ = add
	return nil
}
