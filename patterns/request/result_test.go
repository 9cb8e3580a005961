// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

func TestWhatAHandlerReturnsBecomesAnOutcome(t *testing.T) {
	// This test is the table of handler results, wrapped errors included.
	long := patterns.Headers{{Key: "k", Value: strings.Repeat("v", patterns.MaxHeaderBytes)}}
	refused := func(cause error) error { return fmt.Errorf("wrapped: %w", &patterns.Refusal{Cause: cause}) }
	for name, test := range map[string]struct {
		message patterns.Message
		err     error
		outcome wire.Outcome
		code    patterns.Code
	}{
		"a reply":                    {message: patterns.Message{Body: []byte("x")}, outcome: wire.OutcomeReply},
		"too many headers":           {message: patterns.Message{Headers: long}, outcome: wire.OutcomeRemoteError},
		"an error":                   {err: errors.New("x"), outcome: wire.OutcomeRemoteError},
		"an error with a code":       {err: fmt.Errorf("x: %w", &patterns.RemoteError{Code: 7}), outcome: wire.OutcomeRemoteError, code: 7},
		"busy":                       {err: refused(patterns.ErrOverloaded), outcome: wire.OutcomeOverloaded},
		"leaving":                    {err: refused(patterns.ErrClosed), outcome: wire.OutcomeDraining},
		"too large":                  {err: refused(patterns.ErrTooLarge), outcome: wire.OutcomeTooLarge},
		"not allowed":                {err: refused(patterns.ErrUnauthorized), outcome: wire.OutcomeUnauthorized},
		"interrupted":                {err: refused(patterns.ErrInterrupted), outcome: wire.OutcomeCancelled},
		"refused for other reasons":  {err: refused(errors.New("x")), outcome: wire.OutcomeCancelled},
		"refused without any reason": {err: refused(nil), outcome: wire.OutcomeCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			r := newResult(test.message, test.err)
			require.Equal(t, test.outcome, r.outcome)
			require.Equal(t, test.code, r.code)
		})
	}
}

func TestTheTextOfAnErrorIsBounded(t *testing.T) {
	// This test cuts a text in the middle of a character.
	r := newResult(patterns.Message{}, errors.New("x"+strings.Repeat("é", maxErrorText)))
	require.LessOrEqual(t, len(r.text), maxErrorText)
	require.Greater(t, len(r.text), maxErrorText-4)
	require.True(t, utf8.ValidString(r.text))
}
