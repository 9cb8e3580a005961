// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// newResult turns what a handler returned into what the caller is told.
func newResult(m patterns.Message, err error) result {
	if err == nil {
		return checkReply(m)
	}
	var refusal *patterns.Refusal
	var remote *patterns.RemoteError
	switch {
	case errors.As(err, &refusal):
		return result{outcome: refusalOutcome(refusal.Cause)}
	case errors.As(err, &remote):
		return remoteError(remote.Code, remote.Message)
	}
	return remoteError(patterns.CodeUnknown, err.Error())
}

// checkReply refuses a reply that can't travel: the handler has run, so its
// caller has to be told that it did.
func checkReply(m patterns.Message) result {
	headers := wire.ConvertHeaders[wire.Header](m.Headers)
	if wire.CheckHeaders(headers) != nil || messageSize(headers, m.Body) > MaxMessage {
		r := remoteError(patterns.CodeUnknown, fmt.Sprintf(
			"the reply has %d bytes in its body and %d in its headers: at most %d together and %d in headers can be sent",
			len(m.Body), wire.HeadersSize(headers), MaxMessage, wire.MaxHeaderBytes))
		r.tooLarge = true
		return r
	}
	return result{outcome: wire.OutcomeReply, message: m}
}

func remoteError(code patterns.Code, text string) result {
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "")
	}
	return result{outcome: wire.OutcomeRemoteError, code: code, text: text}
}

// refusalOutcome is the outcome for a handler that stands for a program
// elsewhere. What the caller knows as interrupted is cancelled on the wire: the
// work may have begun, and nobody will say.
func refusalOutcome(cause error) wire.Outcome {
	switch {
	case errors.Is(cause, patterns.ErrOverloaded):
		return wire.OutcomeOverloaded
	case errors.Is(cause, patterns.ErrClosed):
		return wire.OutcomeDraining
	case errors.Is(cause, patterns.ErrTooLarge):
		return wire.OutcomeTooLarge
	case errors.Is(cause, patterns.ErrUnauthorized):
		return wire.OutcomeUnauthorized
	}
	return wire.OutcomeCancelled
}
