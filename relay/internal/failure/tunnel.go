// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// OfTunnel returns how the end of a tunnel travels that was not in good order.
func OfTunnel(err error) session.Failure {
	var reset *patterns.TunnelError
	if errors.As(err, &reset) {
		return session.Failure{
			Outcome: session.OutcomeRemoteError, MaybeRan: true,
			Code: uint32(reset.Code), Text: reset.Message,
		}
	}
	return ofError(err)
}

// TunnelError is the reverse of OfTunnel.
func TunnelError(f session.Failure) error {
	switch f.Outcome {
	case session.OutcomeRemoteError:
		return &patterns.TunnelError{Code: patterns.Code(f.Code), Message: f.Text}
	case session.OutcomeReply: // which ends nothing; but an end it is
		return patterns.ErrInterrupted
	}
	return Error(f, "")
}
