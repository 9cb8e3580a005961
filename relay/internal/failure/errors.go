// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"

	"github.com/arke-mesh/arke/patterns"
)

// Limits of a session. Packages relay and client give them to their users
// under the same names. Who goes beyond one is too busy, so that they match
// patterns.ErrOverloaded as well: no handler ran, and it is worth another try.
var (
	// ErrTooManyRegistrations: the client has as many as its relay allows. It
	// matches patterns.ErrTooMany instead.
	ErrTooManyRegistrations error = &textError{"relay: too many registrations of one client", patterns.ErrTooMany}
	// ErrTooManyRequests: so many calls of the client have no reply yet.
	ErrTooManyRequests error = &textError{"relay: too many requests of one client", patterns.ErrOverloaded}
	// ErrTooManyTunnels: the client has as many open as its relay, or the
	// node, allows. It matches patterns.ErrTooMany instead.
	ErrTooManyTunnels error = &textError{"relay: too many tunnels of one client", patterns.ErrTooMany}
	// ErrTooManySubscriptions: the client has as many as its relay allows. It
	// matches patterns.ErrTooMany instead.
	ErrTooManySubscriptions error = &textError{"relay: too many subscriptions of one client", patterns.ErrTooMany}
	// ErrTooManyBytes: such calls hold so many bytes.
	ErrTooManyBytes error = &textError{"relay: too many bytes in requests of one client", patterns.ErrOverloaded}
)

// ErrDraining is returned by Error when the relay did not look at a call
// because it is shutting down. Its next incarnation may be asked.
var ErrDraining = errors.New("relay: draining")

// textError is a sentinel with the text it had on the other side.
type textError struct {
	text  string
	cause error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.cause }
