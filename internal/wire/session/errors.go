// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed is returned by Decode and Reader.Next for bytes that can't
	// be what they claim to be. The text says which field.
	ErrMalformed = errors.New("session: malformed")

	// ErrUnknownKind is returned by Decode for a kind that this version does
	// not know.
	ErrUnknownKind = errors.New("session: unknown kind")

	// ErrFrameTooLarge is returned by Reader.Next when a frame announces more
	// than the limit, before anything is allocated for it, and by Append and
	// Sender when a frame does not fit.
	ErrFrameTooLarge = errors.New("session: frame too large")

	// ErrFieldTooLarge is returned by Append and Sender for a field, or for
	// headers, beyond its limit.
	ErrFieldTooLarge = errors.New("session: field too large")

	// ErrQueueFull is returned by Sender when the other side does not read as
	// fast as this one writes. The frame was not queued.
	ErrQueueFull = errors.New("session: send queue full")

	// ErrSenderClosed is returned by Sender once the connection is ending.
	// The frame was not queued.
	ErrSenderClosed = errors.New("session: sender closed")
)

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrMalformed, what) }
