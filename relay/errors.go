// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

var (
	// ErrSocketInUse is returned by Start when another relay is alive at the
	// socket.
	ErrSocketInUse = errors.New("relay: socket is in use by a running relay")

	// ErrUnsafeSocket is returned by Start when the socket would be in a place
	// where another user could put his own instead, or where something else
	// is already.
	ErrUnsafeSocket = errors.New("relay: unsafe place for a socket")

	// ErrNotLoopback is returned by New and Start for a Listen address that
	// other machines could reach.
	ErrNotLoopback = errors.New("relay: not a loopback address, like 127.0.0.1:4078 or [::1]:4078")

	// ErrNoToken is returned by New for a Listen address without a Token: any
	// user of the machine could attach.
	ErrNoToken = errors.New("relay: a loopback address needs a token")

	// ErrNoCredentials is returned by New for a Share on a system that does not tell
	// whose process has connected.
	ErrNoCredentials = errors.New("relay: this system does not tell whose process attaches, so that a relay can't be shared")

	// ErrWeakToken is returned by New for a token that is too short to be safe.
	ErrWeakToken = errors.New("relay: weak token")

	// ErrTooManyClients is why one more client than Limits.Clients is refused.
	ErrTooManyClients = errors.New("relay: too many clients")
)

// Limits of a client. Each travels with its code. Calls beyond one are worth
// another try, so that they match patterns.ErrOverloaded; the others match
// patterns.ErrTooMany. No handler ran.
var (
	// ErrTooManyRegistrations: the client has Limits.Registrations.
	ErrTooManyRegistrations error = &limitError{"relay: too many registrations of one client", patterns.ErrTooMany, wire.LimitRegistrations, dropTooManyRegistrations}
	// ErrTooManyRequests: Limits.Requests of its calls have no reply yet.
	ErrTooManyRequests error = &limitError{"relay: too many requests of one client", patterns.ErrOverloaded, wire.LimitCalls, dropTooManyRequests}
	// ErrTooManyBytes: such calls hold Limits.RequestBytes.
	ErrTooManyBytes error = &limitError{"relay: too many bytes in requests of one client", patterns.ErrOverloaded, wire.LimitBytes, dropTooManyBytes}
	// ErrTooManyTunnels: Limits.Tunnels are open.
	ErrTooManyTunnels error = &limitError{"relay: too many tunnels of one client", patterns.ErrTooMany, wire.LimitTunnels, dropTooManyTunnels}
	// ErrTooManySubscriptions: the client has Limits.Subscriptions.
	ErrTooManySubscriptions error = &limitError{"relay: too many subscriptions of one client", patterns.ErrTooMany, wire.LimitSubscriptions, dropTooManySubscriptions}
)

// Shares of what all clients of the relay may have together, see Totals: others
// have theirs, and this client has as much. Their code is one; they match what those
// above do.
var (
	ErrShareOfRegistrations error = &limitError{"relay: its clients have too many registrations, and this one has its share", patterns.ErrTooMany, wire.LimitShare, dropShareOfRegistrations}
	ErrShareOfSubscriptions error = &limitError{"relay: its clients have too many subscriptions, and this one has its share", patterns.ErrTooMany, wire.LimitShare, dropShareOfSubscriptions}
	ErrShareOfTunnels       error = &limitError{"relay: its clients have too many tunnels, and this one has its share", patterns.ErrTooMany, wire.LimitShare, dropShareOfTunnels}
	ErrShareOfRequests      error = &limitError{"relay: its clients make too many requests, and this one has its share", patterns.ErrOverloaded, wire.LimitShare, dropShareOfRequests}
	ErrShareOfWork          error = &limitError{"relay: its clients ask for too much at once, and this one has its share", patterns.ErrOverloaded, wire.LimitShare, dropShareOfWork}
	ErrShareOfBytes         error = &limitError{"relay: its clients hold too many bytes, and this one has its share", patterns.ErrOverloaded, wire.LimitShare, dropShareOfBytes}
)

// limitError is a limit of a client.
type limitError struct {
	text  string
	cause error
	code  uint32
	drop  dropReason // counts those that are refused
}

func (e *limitError) Error() string     { return e.text }
func (e *limitError) Unwrap() error     { return e.cause }
func (e *limitError) LimitCode() uint32 { return e.code }

// ErrTunnelsCut is returned by Shutdown when tunnels outlasted the drain.
var ErrTunnelsCut = errors.New("relay: tunnels were still open")

// errDraining is why nobody was asked: another relay may be.
var errDraining = errors.New("relay: draining")

// violation says how a client broke the protocol. It ends the session.
type violation struct{ text string }

func (v *violation) Error() string { return "relay: client broke the protocol: " + v.text }

// malformed is the violation of who sends what does not decode.
func malformed(err error) error { return &violation{err.Error()} }

// undue is the violation of who sends what is not due.
func undue(text string) error { return &violation{text} }

// Why the session of a client ended.
var (
	errGone     = errors.New("relay: client is gone")
	errSlow     = errors.New("relay: client does not read")
	errReplaced = errors.New("relay: client came back in a newer session")
	errClosed   = errors.New("relay: closed")
)
