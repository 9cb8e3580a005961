// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// Why Start fails. Once it has succeeded, calls fail with the errors of
// package patterns only, as those of an embedded node do.
var (
	// ErrNoRelay is returned by Start when nothing answers like a relay.
	ErrNoRelay = errors.New("client: no relay")

	// ErrVersion is returned by Start when client and relay have no version of
	// the protocol in common.
	ErrVersion = errors.New("client: the relay speaks another version")

	// ErrShuttingDown is returned by Start, with ErrNoRelay, when the relay accepts no
	// more programs: its successor may be on its way.
	ErrShuttingDown = fmt.Errorf("client: the relay is shutting down: %w", ErrNoRelay)

	// ErrNotSocket is returned by Start, with ErrNoRelay, when Config.Socket names a
	// file of another kind.
	ErrNotSocket = errors.New("it is no socket")

	// ErrToken is returned by Start when the relay has another token, and by New
	// when the token is none. It matches patterns.ErrUnauthorized too.
	ErrToken = fmt.Errorf("client: wrong token: %w", patterns.ErrUnauthorized)

	// ErrUser is returned by Start when the relay, or the mode of its socket, does not
	// let in programs of this user. It matches patterns.ErrUnauthorized too.
	ErrUser = fmt.Errorf("client: the relay does not take programs of this user: %w", patterns.ErrUnauthorized)

	// ErrOwner is returned by Start when what listens at the socket, the socket or its
	// directory belongs to a user who is not trusted: see Config.TrustUsers. It
	// matches patterns.ErrUnauthorized too.
	ErrOwner = fmt.Errorf("client: the relay belongs to a user who is not trusted: %w", patterns.ErrUnauthorized)

	// ErrTooManyClients is returned by Start when the relay has as many
	// clients as it may have. It matches patterns.ErrTooMany too.
	ErrTooManyClients = fmt.Errorf("client: the relay has too many clients: %w", patterns.ErrTooMany)

	// ErrRefused is returned by Start when the relay refuses for another
	// reason.
	ErrRefused = errors.New("client: the relay refuses")
)

// The relay's limits for one client. They match patterns.ErrOverloaded too: no
// handler ran, and it is worth another try.
var (
	// ErrTooManyRegistrations is returned by Serve. It matches patterns.ErrTooMany
	// instead.
	ErrTooManyRegistrations error = &limitError{"relay: too many registrations of one client", patterns.ErrTooMany}

	// ErrTooManySubscriptions is returned by Subscribe. It matches
	// patterns.ErrTooMany instead.
	ErrTooManySubscriptions error = &limitError{"relay: too many subscriptions of one client", patterns.ErrTooMany}

	// ErrTooManyRequests is returned by Request, Members and Status.
	ErrTooManyRequests error = &limitError{"relay: too many requests of one client", patterns.ErrOverloaded}

	// ErrTooManyTunnels is returned by OpenTunnel. It matches patterns.ErrTooMany
	// instead.
	ErrTooManyTunnels error = &limitError{"relay: too many tunnels of one client", patterns.ErrTooMany}

	// ErrTooManyBytes is returned by Request.
	ErrTooManyBytes error = &limitError{"relay: too many bytes in requests of one client", patterns.ErrOverloaded}
)

// limitError is a limit of the relay's. It travels as the begin of a text, which has the
// number and what to do, too.
type limitError struct {
	text  string
	cause error
}

func (e *limitError) Error() string { return e.text }
func (e *limitError) Unwrap() error { return e.cause }

// named returns the error for a limit in place of one that only says so.
func named(err error) error {
	if !errors.Is(err, patterns.ErrTooMany) && !errors.Is(err, patterns.ErrOverloaded) {
		return err
	}
	text := err.Error()
	for _, l := range []error{ErrTooManyRegistrations, ErrTooManySubscriptions, ErrTooManyRequests, ErrTooManyTunnels, ErrTooManyBytes} {
		if strings.HasPrefix(text, l.Error()) {
			return &limitError{text, l}
		}
	}
	return err
}

// errDraining is what a relay says that shuts down: its successor may be asked.
var errDraining = errors.New("client: the relay is shutting down")

var errNotStarted = errors.New("client: not started")

// errorOf returns the error of an answer about the cluster or pattern; nil if
// all is well.
func errorOf(d wire.Done, name string) error {
	if d.Outcome == wire.OutcomeDraining {
		return errDraining
	}
	return named(patterns.Failure{
		Outcome: d.Outcome, MaybeRan: d.Flags&wire.FlagMaybeRan != 0, Code: d.Code, Text: d.Text,
	}.Err(name))
}

// cause is what ended ctx, as package patterns tells it.
func cause(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// refusals are why a relay refuses; what is not here is ErrRefused.
var refusals = map[wire.EndCode]error{
	wire.EndVersion:  ErrVersion,
	wire.EndToken:    ErrToken,
	wire.EndUser:     ErrUser,
	wire.EndFull:     ErrTooManyClients,
	wire.EndShutdown: ErrShuttingDown,
}

// refused returns the error for a relay's refusal.
func refused(f wire.LeafGoodbye) error {
	return fmt.Errorf("%w: %s", cmp.Or(refusals[f.Code], ErrRefused), f.Text)
}
