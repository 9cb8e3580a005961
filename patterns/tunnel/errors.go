// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/patterns"
)

// How a peer breaks the protocol; the tunnel is reset.
var (
	errNoCredit  = errors.New("more data than credit")
	errBehindEnd = errors.New("data behind the end")
	errWithin    = errors.New("several messages within one")
	errNotSealed = errors.New("a sealed reset of a tunnel that is not")
	errUnsealed  = errors.New("a frame without a seal in a tunnel that is passed on sealed")
)

// errNothing says that nothing has come yet.
var errNothing = errors.New("nothing yet")

// errForged is how a sealed tunnel ends of which a frame came that the other side
// has not sealed, or not as the next one.
var errForged = fmt.Errorf("tunnel: a frame that the other side has not sealed: %w", patterns.ErrUnauthorized)

// ErrShare is returned by Hop.Open when HopConfig.Places has nothing left for the
// client. It matches patterns.ErrTooMany.
var ErrShare = fmt.Errorf("tunnel: the client has its share: %w", patterns.ErrTooMany)

// LimitError says which limit allows no further tunnel to be opened. It matches
// patterns.ErrTooMany.
type LimitError struct {
	What string // of which there are too many
	Most int
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %s: at most %d", patterns.ErrTooMany, e.What, e.Most)
}

// Unwrap implements errors.Unwrap.
func (e *LimitError) Unwrap() error { return patterns.ErrTooMany }

// IsShare says whether an error of Hop.Deliver means the same.
func IsShare(err error) bool { return err == errShare }
