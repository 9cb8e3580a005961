// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import "os/exec"

// fabric is what nodes are plugged into: namespaces or proxies.
type fabric interface {
	// seed is HOST:PORT at which others find the node with that number.
	seed(number int) (string, error)
	// open makes the node's place in the network. The caller closes it.
	open(name string, number int) (site, error)
	// resume sends what a wire held.
	resume(all []parcel)
	// stats adds what it counted.
	stats(s *Stats)
	// close ends everything, after every site was closed.
	close()
}

// site is a node's place in the network.
type site interface {
	// flags are those of a relay that runs there.
	flags() []string
	// start starts a process there.
	start(cmd *exec.Cmd) error
	// close ends it at once: nothing that runs there sends anything any more.
	close()
}
