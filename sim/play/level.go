// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/node"
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
	// Overhear has copies called with each copy of a publication that a node sends to
	// another from now on, and hops with each frame that asks for something and that a
	// gateway sends or gets, both in order; nil = nobody wants to know. Neither blocks;
	// they may be called in the middle of a step of the level.
	Overhear(copies func(history.Copy), hops func(history.Hop))
}

// NodeSpec says how to start a node.
type NodeSpec struct {
	Name        string
	Zone        string
	Network     security.NetworkFile
	ClusterKeys map[string][]security.KeyVersion
	Seeds       []string     // names of nodes
	Identity    int          // how often it came back as another peer
	Relays      bool         // clients attach to it
	Near        string       // a cluster: its key is chosen, with the keys that it holds, so that it anchors that
	Prefix      string       // how its address begins; empty = it is private
	Adversary   *Adversary   // it is one; nil = it is honest
	Gateway     *GatewaySpec // it is a gateway; Network, Seeds and all that is about one node are not used
	Policy      string       // what its clients may do, as text; empty = everything
	Tokens      []string     // that its clients may prove to have, or that it has as a client: one at most
	// Certify signs the node's certificate; nil = it has none.
	Certify func(p peer.ID, now time.Time) ([]byte, error)
	Relay   string // it is a client, attached to the node of that name; Network, ClusterKeys and Seeds are its relay's
}

// GatewaySpec says what a gateway is.
type GatewaySpec struct {
	Networks []GatewayNetwork
	Lend     []scenario.Lend
}

// GatewayNetwork is one of the networks of a gateway.
type GatewayNetwork struct {
	Name  string
	File  security.NetworkFile
	Seeds []string // names of nodes
}

// Adversary is what a level has to know of a node that is one.
type Adversary struct {
	// Acted is told what it does, count times. It does not block.
	Acted func(what string, count int)
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

// Holder is a Participant beside which a relay runs, and may say what that holds.
type Holder interface {
	// Held is what the relay holds for each client.
	Held() []history.Held
}

// Border is a Participant that is a gateway.
type Border interface {
	// Peers are its peer ids, by the names of its networks.
	Peers() map[string]string
}

// Keyed is a Participant that takes other keys while it runs.
type Keyed interface {
	// SetKeys is node.Node's.
	SetKeys(node.Keys) error
}

// Options says how a scenario is played. The zero value is usable.
type Options struct {
	// Handlers are those of the program that runs the simulation, by the name
	// that scenarios use for them (handler: {kind: go, name: …}). They answer
	// with whatever they like; the player does not look at it.
	Handlers map[string]patterns.Handler
	// Until ends the run early, at that time since History.Start. Default: the
	// scenario's end.
	Until time.Duration
	// Progress is called about once a second of the level's time. It must not
	// block.
	Progress func(now, end time.Duration)
}

const (
	stagger         = time.Millisecond       // between the starts of two nodes in the warm-up
	warmUpLimit     = 60 * time.Second       // for a network to stand
	warmUpLook      = 50 * time.Millisecond  // between two looks whether it does
	probeEvery      = 250 * time.Millisecond // of each caller and cluster in the liveness phase
	probeWithin     = 2 * time.Second        // deadline of a probe
	stopWithin      = 15 * time.Second       // for a node to drain
	lookWithin      = 500 * time.Millisecond // for a view that is not known yet
	graceAtEnd      = 2 * time.Second        // after the last deadline
	defaultWait     = 5 * time.Second        // deadline of a request
	defaultBody     = 100                    // bytes
	defaultMessages = 100                    // of a tunnel
	subscribeWithin = 10 * time.Second       // for a subscription to be acknowledged
	defaultCalm     = 10 * time.Second       // liveness phase
	handlerGrain    = time.Millisecond       // what a handler without work of its own takes when its node is slow
)

// ErrUnsupported is wrapped by the errors of actions that a level can't do.
var ErrUnsupported = errors.New("play: not possible at this level")

// network returns the file of the network of that name that a seed and a label decide;
// "" is the name of the only one. Nodes whose labels differ hold different keys of the
// same network.
func network(seed uint64, name, label string) (security.NetworkFile, error) {
	called, purpose := cmp.Or(name, "sim"), "network"
	if name != "" {
		purpose += " " + name
	}
	file, err := security.GenerateNetworkFile(called, Random(seed, purpose, ""))
	if err != nil || label == "" {
		return file, err
	}
	other, err := security.GenerateNetworkFile(called, Random(seed, purpose, label))
	file.Keys = other.Keys
	return file, err
}

// clusterKey returns the explicit key that a label stands for.
func clusterKey(seed uint64, label string) []security.KeyVersion {
	k := security.KeyVersion{Version: 1}
	_, _ = Random(seed, "cluster", label).Read(k.Key[:])
	return []security.KeyVersion{k}
}

// Random is the stream of random numbers that a seed and some names decide.
func Random(seed uint64, names ...string) *rand.ChaCha8 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.Join(names, "/")))
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], seed)
	binary.BigEndian.PutUint64(key[8:], h.Sum64())
	return rand.NewChaCha8(key)
}
