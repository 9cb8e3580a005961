// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/nowait"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/relay/policy"
)

// Config says what a relay is. Node is required, and at least one of Socket
// and Listen; every other zero value means the default named at the field.
type Config struct {
	// Node is what the clients share. It must be started before the relay and
	// outlive it; the relay does not close it.
	Node Node
	// Status describes the node for clients that ask; the result is encoded as
	// JSON. Default: nothing but the relay itself is described.
	Status func() any
	// Peer is the node's peer id, which clients are told. Default: "".
	Peer string

	// Socket is the path of the unix socket. Its directory is made if it does not
	// exist, with mode 0700, or 0755 if others share the relay. Default: none.
	Socket string
	// Share says who may attach over the socket besides root and the user whose
	// process the relay is. Default: nobody.
	Share Share
	// Listen is a loopback "host:port" to accept clients on besides. Port 0 is
	// any free one, see Relay.Addr. Default: none.
	Listen string
	// Tokens are what clients prove at Listen that they have; one is required with
	// it, 64 are allowed.
	Tokens []Token

	// Policy says which clients may serve, call, publish and subscribe what; see
	// Relay.SetPolicy. Default: all may everything.
	Policy *policy.Policy
	// Limits bound what one client may use, Totals what all of them may together.
	Limits Limits
	Totals Totals
	// Calls are those by which clients' sockets are read and written; only for a process
	// in which nobody's code runs. Default: Go's scheduler is told of each.
	Calls *nowait.Calls
	// Agent is what the relay calls itself to clients. Default "arke".
	Agent string
	// Logger is where the relay logs; nil = nowhere.
	Logger *zap.Logger
	// Seam replaces clock, randomness and the running of what clients ask for, as
	// package sim does; Exec outlives the relay. Then neither Socket nor Listen is
	// required: see Relay.Attach. Default: the machine's.
	Seam *Seam
}

// Share opens a relay's socket to others on the machine, by user and group id. The
// credentials of a connection decide, which not every system tells: see
// ErrNoCredentials.
type Share struct {
	// Users and Groups are whose processes may attach. A process is of its effective
	// group and of its supplementary ones.
	Users, Groups []int
	// Anyone lets every user of the machine attach.
	Anyone bool
	// Mode is the mode of the socket, its permission bits. Default: 0600; 0660 if
	// nothing but Group is set; else 0666, since the credentials decide.
	Mode fs.FileMode
	// Group is the group of the socket; its members may attach, too. 0 = the
	// process's own, whose members may not.
	Group int
}

// Token is a secret that admits a client. It prints as its name.
type Token struct {
	// Name is what logs and the policy call the token; at most 255 bytes. Two
	// tokens have two names.
	Name string
	// Secret has 16 to 1,024 bytes. Who can reach the port can try tokens without
	// asking the relay each time, so that it should be random.
	Secret string
}

// String returns the token's name.
func (t Token) String() string { return t.Name }

// GoString returns the token's name.
func (t Token) GoString() string { return t.Name }

// Seam is what a relay needs from outside.
type Seam struct {
	Clock overlay.Clock
	Rand  overlay.Rand
	Exec  overlay.Exec
}

// Limits bound what clients may use; zero fields mean the defaults. Each has a
// named error at the client and a counter in [Status].
type Limits struct {
	// Waiting is how many connections may be about to say Hello, over the socket, and
	// over TCP as many again. Default 256. If there is one more, one at random is
	// closed of the user, or address, that has most.
	Waiting int
	// Clients is how many may be attached of one user, or from one address. Default
	// 1,024. One more is refused: ErrTooManyClients. All of them together may have
	// twice as many; then each has a fair share.
	Clients int
	// Registrations is how many members one client may have. Default 1,024. One
	// more fails: ErrTooManyRegistrations.
	Registrations int
	// Subscriptions is how many one client may have. Default 4096. One more
	// fails: ErrTooManySubscriptions.
	Subscriptions int
	// PublicationBytes is how many bytes of publications may wait for one client
	// until it has said that it has read them, which package client does by the
	// sixteenth; what is more is dropped, and told as a gap: patterns.GapSlow. A
	// subscription that asks for a larger buffer is refused. As
	// many of its own may wait for room at the node; it can send no more then.
	// Default 16 MiB.
	PublicationBytes int
	// Requests is how many calls of one client may be without a reply.
	// Default 4096. One more fails: ErrTooManyRequests.
	Requests int
	// RequestBytes is how many bytes such calls may have. Default 64 MiB. One
	// more fails, unless it is the only one: ErrTooManyBytes.
	RequestBytes int
	// Deliveries is how many requests the members of one client may have that they
	// have not answered. Default 16,384. One more is not delivered: its caller is told
	// that the member is overloaded.
	Deliveries int
	// QueueBytes is how many bytes of requests and replies may wait until one
	// client has read them, and as many again of large ones. Default 8 MiB,
	// besides one message of any size. A request that finds no room is not
	// delivered: its caller is told that the member is overloaded.
	QueueBytes int
	// Tunnels is how many one client may have open, those to its members
	// included. Default 16,384. One more fails: ErrTooManyTunnels; or, if
	// somebody opened it to a member of the client, it is reset.
	Tunnels int
	// TunnelBytes is how many bytes may be under way through the relay in all
	// tunnels of one client. Default 64 MiB. Each takes 128 KiB of it at first, or
	// 1 KiB when three quarters are taken, and more while it is busy; an idle one
	// gives back all but 1 KiB.
	TunnelBytes int
	// Handshake is how long a new connection may take to say Hello. Default
	// 2 s.
	Handshake time.Duration
	// Stall is how long a client may leave the relay waiting in one write
	// before its session ends. Default 30 s.
	Stall time.Duration
}

// Totals bound what all clients may use together; zero fields mean the defaults.
// Each client has a little of its own, which nobody can take from it: 64 of what is
// counted, 8 registrations, 8 of Work and of Waits, and less than 2 MiB. What clients
// have beyond that, together, is bounded here: half is for whoever comes first, of
// the other half each client that has any may have the same share. A client that
// has its share is refused more, with an error of its own and a counter in [Status];
// what it has stays its own. By default one alone may have all that Limits give it.
type Totals struct {
	// Registrations, by default four times Limits.Registrations (4,096). One more
	// fails: ErrShareOfRegistrations.
	Registrations int `json:"registrations"`
	// Subscriptions, by default four times Limits.Subscriptions (16,384). One more
	// fails: ErrShareOfSubscriptions.
	Subscriptions int `json:"subscriptions"`
	// Requests are calls without a reply, by default four times Limits.Requests
	// (16,384). One more fails: ErrShareOfRequests.
	Requests int `json:"requests"`
	// Deliveries are requests that members have not answered, by default four times
	// Limits.Deliveries (65,536). One more is refused: its caller is told that the
	// member is overloaded.
	Deliveries int `json:"deliveries"`
	// Tunnels, by default three times Limits.Tunnels (49,152). One more fails:
	// ErrShareOfTunnels, or, to a member, is refused as overloaded.
	Tunnels int `json:"tunnels"`
	// Work is surveys, broadcasts, questions to the relay, and registrations and
	// subscriptions that are being opened: each has a goroutine. Default 32,768. One
	// more fails: ErrShareOfWork.
	Work int `json:"work"`
	// Waits is calls that wait for a first member, and subscriptions that have
	// publishers wait: each has a worker of the node, which should have twice as
	// many. Default 8,192. One call more fails as overloaded, a publication more is a
	// gap.
	Waits int `json:"waits"`
	// Bytes are those of all that the relay holds for clients: what waits in their
	// lanes or was not acknowledged, calls, replies that stand in line, publications
	// that wait, messages that have come in part, and the windows of tunnels.
	// Default twice what Limits allow one client (576 MiB). One more fails:
	// ErrShareOfBytes; what is for a client that has no room counts as in a full lane.
	Bytes int `json:"bytes"`
}

func (t Totals) withDefaults(l Limits) Totals {
	t.Registrations = cmp.Or(t.Registrations, 4*l.Registrations)
	t.Subscriptions = cmp.Or(t.Subscriptions, 4*l.Subscriptions)
	t.Requests = cmp.Or(t.Requests, 4*l.Requests)
	t.Deliveries = cmp.Or(t.Deliveries, 4*l.Deliveries)
	t.Tunnels = cmp.Or(t.Tunnels, 3*l.Tunnels)
	t.Work = cmp.Or(t.Work, 32<<10)
	t.Waits = cmp.Or(t.Waits, 8<<10)
	// Lanes of requests, replies and large ones, and of publications in both
	// directions; calls, and their replies; what came in part.
	t.Bytes = cmp.Or(t.Bytes, 2*(2*l.QueueBytes+2*l.PublicationBytes+2*l.RequestBytes+l.TunnelBytes+3*largestMessage))
	return t
}

// maxName bounds what the relay calls itself and its node, in bytes.
const maxName = 255

func (l Limits) withDefaults() Limits {
	l.Waiting = cmp.Or(l.Waiting, 256)
	l.Clients = cmp.Or(l.Clients, 1024)
	l.Registrations = cmp.Or(l.Registrations, 1024)
	l.Subscriptions = cmp.Or(l.Subscriptions, 4096)
	l.PublicationBytes = cmp.Or(l.PublicationBytes, 16<<20)
	l.Requests = cmp.Or(l.Requests, 4096)
	l.Deliveries = cmp.Or(l.Deliveries, 16384)
	l.RequestBytes = cmp.Or(l.RequestBytes, 64<<20)
	l.QueueBytes = cmp.Or(l.QueueBytes, 8<<20)
	l.Tunnels = cmp.Or(l.Tunnels, 16384)
	l.TunnelBytes = cmp.Or(l.TunnelBytes, 64<<20)
	l.Handshake = cmp.Or(l.Handshake, 2*time.Second)
	l.Stall = cmp.Or(l.Stall, 30*time.Second)
	return l
}

const (
	// largestMessage bounds body and encoded headers of one message, in bytes.
	largestMessage = request.MaxMessage
	// messageOverhead is what frames add to it, at most.
	messageOverhead = 128 << 10
)

// lanes returns the windows of a client's session, in both directions.
func (l Limits) lanes() (bytes [wire.Lanes]int) {
	bytes[wire.LaneCtl] = max(1<<20, 256*l.Registrations)
	bytes[wire.LaneRPC] = l.QueueBytes
	bytes[wire.LanePub] = l.PublicationBytes
	bytes[wire.LaneBulk] = l.QueueBytes
	return bytes
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	c.Totals = c.Totals.withDefaults(c.Limits)
	c.Agent = cmp.Or(c.Agent, "arke")
	c.Logger = cmp.Or(c.Logger, zap.NewNop())
	return c
}

// Check says what is wrong with the configuration, as New would, but for Node.
func (c Config) Check() error { return c.withDefaults().validate() }

func (c Config) validate() error {
	l, t := c.Limits, c.Totals
	switch {
	case c.Socket == "" && c.Listen == "" && c.Seam == nil:
		return errors.New("relay: Config.Socket or Config.Listen is required: where shall clients attach?")
	case c.Listen != "" && len(c.Tokens) == 0:
		return ErrNoToken
	case len(c.Tokens) > wire.MaxTokens:
		return fmt.Errorf("relay: Config.Tokens are %d, at most %d are allowed", len(c.Tokens), wire.MaxTokens)
	case len(c.Agent) > maxName || len(c.Peer) > maxName:
		return fmt.Errorf("relay: Config.Agent or Config.Peer is longer than %d bytes", maxName)
	case min(l.Waiting, l.Clients, l.Registrations, l.Subscriptions, l.PublicationBytes, l.Requests, l.RequestBytes, l.Deliveries, l.QueueBytes, l.Tunnels, l.TunnelBytes) < 1:
		return errors.New("relay: Config.Limits must be positive")
	case min(t.Registrations, t.Subscriptions, t.Requests, t.Deliveries, t.Tunnels, t.Work, t.Waits, t.Bytes) < 1:
		return errors.New("relay: Config.Totals must be positive")
	case max(l.PublicationBytes, l.QueueBytes) > math.MaxInt32:
		return fmt.Errorf("relay: Config.Limits: lanes of more than %d bytes", math.MaxInt32)
	case l.Handshake < 0 || l.Stall < 0:
		return errors.New("relay: Config.Limits must be positive")
	}
	if err := c.Share.validate(); err != nil {
		return err
	}
	if err := checkTokens(c.Tokens); err != nil {
		return err
	}
	if err := tokensKnown(c.Policy, c.Tokens); err != nil {
		return err
	}
	if c.Listen != "" {
		return checkLoopback(c.Listen)
	}
	return nil
}

// checkTokens refuses tokens that could be guessed, or that nobody could tell apart.
func checkTokens(tokens []Token) error {
	for i, t := range tokens {
		same := func(o Token) bool { return o.Name == t.Name || o.Secret == t.Secret }
		switch {
		case len(t.Name) > maxName:
			return fmt.Errorf("relay: the name of a token is longer than %d bytes", maxName)
		case len(t.Secret) < wire.MinToken:
			return fmt.Errorf("%w: token %q has %d bytes, at least %d are required", ErrWeakToken, t.Name, len(t.Secret), wire.MinToken)
		case len(t.Secret) > wire.MaxToken:
			return fmt.Errorf("relay: token %q has more than %d bytes", t.Name, wire.MaxToken)
		case slices.ContainsFunc(tokens[:i], same):
			return fmt.Errorf("relay: token %q is there twice", t.Name)
		}
	}
	return nil
}

// checkLoopback refuses an address that other machines could reach: the
// protocol is not encrypted.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("relay: Config.Listen: %w", err)
	}
	if host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%w: %q", ErrNotLoopback, address)
}
