// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// Level is where nodes live. Methods may be called by any goroutine that the
// level started, and by the one that runs the player.
type Level interface {
	// Now is the time since the level began: virtual or real.
	Now() time.Duration
	// At has f called on a goroutine of its own at that time, or soon if it is
	// past. Names order what is simultaneous; they may be used again.
	At(at time.Duration, name string, f func())
	// Sleep returns when Now is at least until.
	Sleep(until time.Duration)
	// Note puts a result into the trace, if the level has one.
	Note(node, text string)

	// SetLinks says how links behave from now on, by the names of sender and
	// receiver. It is called once, before the first node starts; of may be
	// called at any time, by any goroutine.
	SetLinks(of func(from, to string) scenario.Link)

	// Start starts a node, or starts it again with the next incarnation after
	// it was stopped or lost. It returns when the node runs.
	Start(ctx context.Context, spec NodeSpec) (Participant, error)

	// Apply does one primitive action to links and nodes and returns when it is
	// done. Crash, silence and stop of a node are followed by the player's Close
	// of the Participant. It returns an error that wraps ErrUnsupported if this
	// level can't do that.
	Apply(a scenario.Action) error

	// Calm ends every fault of links, clocks, routers and paused nodes, and
	// every random loss: what follows is the liveness phase.
	Calm() error

	// Close ends everything that is left and waits.
	Close() error
}

// Witness is a Level that sees what nodes send to each other.
type Witness interface {
	// Copies has note called with each copy of a publication that a node sends
	// to another from now on, in order. note does not block; it may be called
	// in the middle of a step of the level.
	Copies(note func(history.Copy))
}

// NodeSpec says how to start a node.
type NodeSpec struct {
	Name        string
	Zone        string
	Network     security.NetworkFile
	ClusterKeys map[string][]security.KeyVersion
	Seeds       []string // names of nodes
	Relays      bool     // clients attach to it
	Relay       string   // it is a client, attached to the node of that name; Network, ClusterKeys and Seeds are its relay's
}

// Participant is a node as the player uses it, embedded or through a relay.
type Participant interface {
	patterns.Messenger
	// Now is the node's own clock, which may be skewed.
	Now() time.Time
	// Within returns a context that ends, with context.DeadlineExceeded, after
	// d on the node's own clock. Its Deadline is Now plus d.
	Within(d time.Duration) (context.Context, context.CancelFunc)
	// Peer is the node's peer id as text; a client has its relay's.
	Peer() string
	// Status is node.Node's Status.
	Status(ctx context.Context) (node.Status, error)
}
