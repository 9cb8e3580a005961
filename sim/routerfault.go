// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "crypto/sha256"

// What can be wrong with a router.
const (
	RouterSlow  = "slow"  // its lookups take Config.DialTimeout longer
	RouterStale = "stale" // it never forgets a peer, and answers with dead ones, too
	RouterWrong = "wrong" // it answers with any peers instead of the closest
)

// RouterFault makes the router of a node, and of those that will run on the
// same host, misbehave: RouterSlow, RouterStale or RouterWrong; "" ends that.
// Stale and wrong are also its answers to the lookups of others. It panics if
// there is no such mode.
func (n *Network) RouterFault(name, mode string) {
	switch mode {
	case "", RouterSlow, RouterStale, RouterWrong:
	default:
		panic("sim: no such router fault: " + mode)
	}
	n.inject("router "+name+" "+mode, func() { n.host(name).fault = mode })
}

// aim is the target that the router goes by. A wrong one always takes the same
// other point for it, so that nothing depends on who asks when.
func (r *router) aim(target point) point {
	if r.p.host.fault != RouterWrong {
		return target
	}
	return sha256.Sum256(append(target[:], r.p.host.place.at[:]...))
}

// remember adds the dead to a stale router's result.
func (r *router) remember(l lookup, target point, width int) lookup {
	if r.p.host.fault == RouterStale && len(l.dead) > 0 {
		l.found = append(l.found, l.dead...)
		sortByDistance(l.found, target)
		l.found = l.found[:min(width, len(l.found))]
		l.dead = nil
	}
	return l
}
