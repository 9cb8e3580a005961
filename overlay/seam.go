// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/security"
)

// Transport reaches peers: it is backed by overlay/p2p (libp2p) in production
// and by package sim in simulation. All methods may be called concurrently.
type Transport interface {
	// Self is the id of the local node; it is authenticated by the transport.
	Self() peer.ID

	// Addrs lists the multiaddrs (without /p2p) others can reach this node
	// at: the advertised ones if any, else the bound ones. The caller owns
	// the slice.
	Addrs() []string

	// Start begins to accept; h is called from then until Close returns.
	Start(h TransportHandler) error

	// Connect makes sure that a connection to the candidate exists and
	// returns its authenticated peer id. It blocks until ctx ends at the latest;
	// the error is a ReplacedError if another node has taken the candidate's
	// place, and ErrNotAdmitted if TransportHandler.Routes does not let the peer in.
	// A candidate without a peer id is resolved first. If the only
	// node found there is this one, Connect returns Self; the error then says why
	// other addresses of the candidate failed, nil = there are none.
	Connect(ctx context.Context, c Candidate) (peer.ID, error)

	// Open opens a link stream to p, connecting first where necessary;
	// addrs are further addresses to try, they may be empty. The error is
	// ErrRefused if every known address refused.
	Open(ctx context.Context, p peer.ID, addrs []string) (Stream, error)

	// Disconnect closes every connection to p at once.
	Disconnect(p peer.ID)

	// Close ends every connection and waits for all handler calls to return.
	Close() error
}

// Renewer is a Transport whose connections are admitted by keys that change. All
// methods may be called concurrently.
type Renewer interface {
	// Retire has Open make a new connection to p, if one stands that an older key
	// has admitted than the newest there is now; false = there is none. What stands goes on.
	Retire(p peer.ID) bool
	// Settle ends what Retire began: the old connections are closed if they were
	// replaced, else they are as before.
	Settle(p peer.ID, replaced bool)
}

// Reviewer is a Transport that heeds TransportHandler.Certificate and Routes. It may be
// called concurrently.
type Reviewer interface {
	// Review has connections that are made show what Certificate returns now, and asks
	// Routes anew about those that stand.
	Review() error
}

// TransportHandler receives what happens below. Calls of HandleStream, PeerUp and PeerDown
// for one peer do not overlap; all others may.
type TransportHandler interface {
	// HandleStream takes over an incoming link stream. It must return soon;
	// the handler owns s from here on.
	HandleStream(s Stream)
	// Certificate is what this node shows when a connection is made, at most 1 KiB;
	// nil = none.
	Certificate() []byte
	// Routes says whether p takes part in the routing of the network, by the certificate
	// that it has shown when a connection was made; nil = it has shown none. Who does
	// not is not asked who is near, not answered, and named to nobody. It must not block.
	Routes(p peer.ID, certificate []byte) bool
	// PeerUp is called when the first authenticated connection to p stands that Routes
	// has let in, if the transport asks it.
	PeerUp(p peer.ID)
	// PeerDown is called when the last of these connections to p is gone.
	PeerDown(p peer.ID)
}

// Stream is a reliable, ordered, encrypted byte stream to an authenticated
// peer. One goroutine may read while another writes.
type Stream interface {
	io.Reader

	// Write sends p whole or fails. It returns when p is handed on, and
	// waits beforehand until the connection below has taken what the previous
	// Write gave it: bytes queued further down have no priority any more.
	// The caller keeps p.
	io.Writer

	// CloseWrite ends this direction; the peer reads io.EOF after the last
	// byte.
	CloseWrite() error
	// Reset drops everything in both directions; the peer sees an error that
	// carries code.
	Reset(code uint32) error
	// Hangup closes the connection below the stream, and every older one with the same
	// peer, at once: the next Open uses another.
	Hangup()
	// Close releases the stream. It does not wait for queued bytes.
	Close() error

	// SetReadDeadline and SetWriteDeadline work as in net.Conn.
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error

	// Remote is the authenticated peer, RemoteAddr its multiaddr as text.
	Remote() peer.ID
	RemoteAddr() string
	// Outbound says that this side opened the stream.
	Outbound() bool
	// Certified says whether TransportHandler.Routes has let the peer in, by what it has
	// shown when the connection was made.
	Certified() bool
}

// Key is a point in the overlay's key space: 32 bytes. The distance of two
// points is the XOR of their SHA-256 hashes, as in Kademlia; peers are points
// by the bytes of their id.
type Key [32]byte

// Router knows who is close to a key. Methods may be called concurrently.
type Router interface {
	// Nearest answers from what is known here, without I/O: at most k peers,
	// closest first, the local node included where it belongs.
	Nearest(key Key, k int) []peer.ID

	// Closest asks the network too. It returns what it found when ctx ends,
	// together with the error; callers use the partial result.
	Closest(ctx context.Context, key Key, k int) ([]peer.ID, error)

	// Size is the number of peers known, the local node excluded.
	Size() int

	// OnChange has f called, soon and from any goroutine, after the set of
	// known peers has changed. f must not block. Only before Start.
	OnChange(f func())
}

// Clock tells and waits; see session.Clock.
type Clock = session.Clock

// Timer is a pending call of Clock.AfterFunc.
type Timer = session.Timer

// Rand gives named streams of random numbers, so that in the simulator one
// use never disturbs another one.
type Rand interface {
	// Stream returns the stream of that name; the same name gives the same
	// stream. Streams may be used concurrently.
	Stream(name string) RandStream
}

// RandStream is one source of random numbers; Read never fails and is fit for
// keys and nonces in production.
type RandStream interface {
	io.Reader
	Uint64() uint64
	// IntN returns a number in [0, n); n must be positive.
	IntN(n int) int
}

// Exec runs user code and completions.
type Exec interface {
	// Go runs f, which may block for long, on a worker of its own. It
	// reports false, and does not run f, if the bound on workers is reached
	// or the Exec is closed.
	Go(key ExecKey, f func()) bool
	// Wake runs f, which must not block: it signals a goroutine. Production
	// runs it at once on the calling goroutine; the simulator queues it, so
	// that two goroutines never wake in the same step.
	Wake(key ExecKey, f func())
}

// ExecKey orders simultaneous work in the simulator.
type ExecKey = session.ExecKey

// Rounds is described in package session.
type Rounds = session.Rounds

// RoundsOf returns the rounds of an overlay's links, for other sessions that receive
// what its links send, or the other way round. Sessions that begin after the first call
// share them; without one each link has its own: where nothing is forwarded, to wait for
// the readers of others would only cost.
func RoundsOf(o *Overlay) *Rounds {
	o.rounds.CompareAndSwap(nil, &Rounds{})
	return o.rounds.Load()
}

// Seam is everything the overlay needs from outside, in one value.
type Seam struct {
	Transport Transport
	Router    Router
	Clock     Clock
	Rand      Rand
	Exec      Exec
	// Key is the node's own, for the layers above, which sign with it; its peer
	// id is Transport.Self.
	Key security.NodeKey
}

// Source says where a candidate came from.
type Source uint8

// The sources of candidates.
const (
	SourceSeed       Source = iota + 1 // configured; may be a DNS name or lack a peer id
	SourceLAN                          // mDNS
	SourceRemembered                   // known from last time, from the data directory
	SourcePeer                         // named by a peer, or a peer that was lost
)

// Candidate is a node that might be reached. Peer is empty for a seed that
// names only an address. Addrs are multiaddrs as text; a seed may also be
// "host:port".
type Candidate struct {
	Peer   peer.ID
	Addrs  []string
	Source Source
}

// Lane is one ordered queue of a link. A lower number leaves first.
type Lane = wire.Lane

// The four lanes, by priority.
const (
	LaneCtl   = wire.LaneCtl  // membership, credit
	LaneRPC   = wire.LaneRPC  // requests and replies up to 64 KiB
	LanePub   = wire.LanePub  // broadcast and topics; their order matters
	LaneBulk  = wire.LaneBulk // large messages and tunnels, in frames of at most 64 KiB
	laneCount = wire.Lanes
)
