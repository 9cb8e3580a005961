// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// Flag is a limit that an operator can set.
type Flag struct {
	Name  string // of the flag of 'arke relay'
	Value *int
	Usage string
}

// The flags that refusals name.
const (
	flagClients          = "max-clients"
	flagMembers          = "max-members"
	flagSubscriptions    = "max-subscriptions"
	flagDeliveries       = "max-deliveries"
	flagPublicationBytes = "publication-bytes"
)

// Flags returns the limits that have a flag of 'arke relay'.
func (l *Limits) Flags() []Flag {
	return []Flag{
		{flagClients, &l.Clients, "programs of one user that may be attached at once, twice as many of all users; an idle one costs about 40 KB"},
		{flagMembers, &l.Registrations, "members that one program may have, all programs four times as many; one costs about 15 KB"},
		{flagSubscriptions, &l.Subscriptions, "subscriptions that one program may have, all programs four times as many"},
		{flagDeliveries, &l.Deliveries, "requests that the members of one program may have, running and waiting, all programs four times as many"},
		{flagPublicationBytes, &l.PublicationBytes, "bytes of publications that may wait for one program, and so the largest buffer of a subscription"},
	}
}

// DefaultLimits are the limits of a relay that sets none.
func DefaultLimits() Limits { return Limits{}.withDefaults() }

// DefaultTotals are the totals of a relay that sets none.
func DefaultTotals() Totals { return Totals{}.withDefaults(DefaultLimits()) }

// raise is the remedy for a limit that has a flag.
func raise(flag string) string { return "start the relay with a larger --" + flag }

// refusals are the errors of the limits with their numbers and remedies.
type refusals struct {
	claims [claimKinds]struct{ tooMany, share error }

	requests, bytes, publications                              error
	shareOfRequests, shareOfTunnels, shareOfWork, shareOfBytes error
}

func newRefusals(l *Limits, t *Totals) (r refusals) {
	const (
		elsewhere = "use another program, or "
		wait      = "wait for replies, or use another program"
		another   = "use another relay"
	)
	beyond := func(limit error, most int, remedy string) error {
		return fmt.Errorf("%w: at most %d: %s", limit, most, remedy)
	}
	r.claims[registration].tooMany = beyond(ErrTooManyRegistrations, l.Registrations, elsewhere+raise(flagMembers))
	r.claims[registration].share = beyond(ErrShareOfRegistrations, t.Registrations, raise(flagMembers))
	r.claims[subscription].tooMany = beyond(ErrTooManySubscriptions, l.Subscriptions, elsewhere+raise(flagSubscriptions))
	r.claims[subscription].share = beyond(ErrShareOfSubscriptions, t.Subscriptions, raise(flagSubscriptions))
	r.requests = beyond(ErrTooManyRequests, l.Requests, wait)
	r.bytes = beyond(ErrTooManyBytes, l.RequestBytes, wait)
	r.publications = beyond(ErrTooManyBytes, l.PublicationBytes, raise(flagPublicationBytes))
	r.shareOfRequests = beyond(ErrShareOfRequests, t.Requests, "wait for replies, or "+another)
	r.shareOfTunnels = beyond(ErrShareOfTunnels, t.Tunnels, another)
	r.shareOfWork = beyond(ErrShareOfWork, t.Work, "wait for replies, or "+another)
	r.shareOfBytes = beyond(ErrShareOfBytes, t.Bytes, "wait for replies, or "+another)
	return r
}

// excess says why the relay can't keep what the subscription asks for: it holds less for
// a program than the program's buffer.
func (w *wanted) excess(l *Limits) error {
	if w.buffer <= l.PublicationBytes {
		return nil
	}
	return &limitError{fmt.Sprintf(
		"relay: a buffer of %d bytes is more than the %d that this relay holds for a program: ask for less, or %s",
		w.buffer, l.PublicationBytes, raise(flagPublicationBytes),
	), patterns.ErrTooMany, wire.LimitBuffer, dropBuffer}
}

// excess says why the relay can't keep what the member's limits promise.
func (m *member) excess(l *Limits) error {
	asked := m.limits // 0 = the default, or what the relay allows
	switch waiting := max(asked.QueueLength, 0); {
	case asked.Tunnels > l.Tunnels:
		return &limitError{
			fmt.Sprintf("relay: a member with %d tunnels needs more than the %d that a program may have: ask for less", asked.Tunnels, l.Tunnels),
			patterns.ErrTooMany, wire.LimitTunnels, dropTooManyTunnels,
		}
	case asked.Concurrency > l.Deliveries-waiting:
		return &limitError{fmt.Sprintf(
			"relay: a member with %d handlers and a queue of %d needs more than the %d requests that a program's members may have: ask for less, or %s",
			asked.Concurrency, waiting, l.Deliveries, raise(flagDeliveries),
		), patterns.ErrTooMany, wire.LimitDeliveries, dropTooManyDeliveries}
	}
	return nil
}
