// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// Why a session can't say what became of a call. They stay inside the package:
// settle decides what the caller sees.
var (
	// errNotSent: the session ended before the call was written.
	errNotSent = errors.New("client: session ended before the call")
	// errLost: the connection broke between the call and its reply.
	errLost = errors.New("client: session lost before the reply")
	// errGoodbye: the relay says that it has not looked at the call.
	errGoodbye = errors.New("client: session ended, call not looked at")
	// errOver: the call's own time was over, and the relay said nothing.
	errOver = errors.New("client: time over before the reply")
)

// course is what has become of a call so far, over all the sessions it was
// tried on. It decides whether it is tried again.
type course struct {
	idempotent bool
	maybeRan   bool // an earlier try may have reached a handler
}

// settle takes how a try ended: nil for a reply. It says whether the call is
// to be tried on the next session, or the error that the caller gets.
func (c *course) settle(err error) (again bool, final error) {
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, errNotSent), errors.Is(err, errGoodbye), errors.Is(err, failure.ErrDraining):
		return true, nil
	case errors.Is(err, errLost):
		c.maybeRan = true
		if c.idempotent {
			return true, nil
		}
		return false, patterns.ErrInterrupted
	}
	return false, c.worst(err)
}

// worst is err, unless an earlier try may have run and err says that none did.
func (c *course) worst(err error) error {
	var remote *patterns.RemoteError
	var late *patterns.DeadlineError
	switch {
	case !c.maybeRan || errors.As(err, &remote) || errors.Is(err, patterns.ErrInterrupted):
		return err
	case errors.As(err, &late):
		return &patterns.DeadlineError{Cause: late.Cause, MaybeRan: true}
	}
	return fmt.Errorf("%w (at the next try: %v)", patterns.ErrInterrupted, err)
}
