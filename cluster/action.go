// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// action is what a core wants done; the loop performs actions in order.
type action interface{ isAction() }

type (
	// sendAction puts a message on the link to a peer. If that fails the loop
	// tells the core that sent it (sendFailed).
	sendAction struct {
		to  peer.ID
		msg message
	}
	// openAction begins to establish a link; a link event is the answer.
	openAction struct {
		to    peer.ID
		addrs []string
	}
	// holdAction starts or ends the interest in a peer's life.
	holdAction struct {
		peer peer.ID
		on   bool
	}
	// lookupAction asks the network for the peers closest to a cluster id;
	// control.lookedUp is the answer, always.
	lookupAction struct {
		cid security.ClusterID
	}
	// publishAction shows a new view to callers.
	publishAction struct {
		name string
		view *View
	}
	// registeredAction ends a Register call.
	registeredAction struct {
		name   string
		member MemberID
		err    error // nil: acknowledged
	}
	// expireAction says that a watch has lingered for long enough; the loop
	// forgets it unless somebody came back.
	expireAction struct {
		name string
	}
)

func (sendAction) isAction()       {}
func (openAction) isAction()       {}
func (holdAction) isAction()       {}
func (lookupAction) isAction()     {}
func (publishAction) isAction()    {}
func (registeredAction) isAction() {}
func (expireAction) isAction()     {}

// outbox collects the actions of one step, for all cores of a node.
type outbox struct{ actions []action }

func (o *outbox) add(a action) { o.actions = append(o.actions, a) }

func (o *outbox) send(to peer.ID, m message) { o.add(sendAction{to, m}) }
