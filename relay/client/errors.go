// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// Why Start fails. Once it has succeeded, calls fail with the errors of
// package patterns only, as those of an embedded node do.
var (
	// ErrNoRelay is returned by Start when nothing answers like a relay.
	ErrNoRelay = errors.New("client: no relay")

	// ErrVersion is returned by Start when client and relay have no version of
	// the protocol in common.
	ErrVersion = errors.New("client: the relay speaks another version")

	// ErrToken is returned by Start when the relay refuses the token. It
	// matches patterns.ErrUnauthorized too.
	ErrToken = fmt.Errorf("client: the relay refuses the token: %w", patterns.ErrUnauthorized)

	// ErrUser is returned by Start when relay and client belong to different
	// users. It matches patterns.ErrUnauthorized too.
	ErrUser = fmt.Errorf("client: the relay belongs to another user: %w", patterns.ErrUnauthorized)

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
	ErrTooManyRegistrations = failure.ErrTooManyRegistrations

	// ErrTooManySubscriptions is returned by Subscribe. It matches
	// patterns.ErrTooMany instead.
	ErrTooManySubscriptions = failure.ErrTooManySubscriptions

	// ErrTooManyRequests is returned by Request, Members and Status.
	ErrTooManyRequests = failure.ErrTooManyRequests

	// ErrTooManyTunnels is returned by OpenTunnel. It matches patterns.ErrTooMany
	// instead.
	ErrTooManyTunnels = failure.ErrTooManyTunnels

	// ErrTooManyBytes is returned by Request.
	ErrTooManyBytes = failure.ErrTooManyBytes
)

// refused returns the error for a relay's refusal.
func refused(f *session.Refused) error {
	err := ErrRefused
	switch f.Reason {
	case session.ReasonVersion:
		err = ErrVersion
	case session.ReasonToken:
		err = ErrToken
	case session.ReasonUser:
		err = ErrUser
	case session.ReasonClients:
		err = ErrTooManyClients
	case session.ReasonDraining:
		err = ErrNoRelay
	}
	return fmt.Errorf("%w: %s", err, f.Text)
}
