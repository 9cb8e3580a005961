// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

func TestWhatTheCallerDoesNotSendIsCounted(t *testing.T) {
	// This test goes one byte over the limits that the caller itself knows, with
	// each pattern: the named error and the caller's counter, and nothing is
	// sent. One byte less goes through.
	headers := func(n int) patterns.Message {
		return patterns.Message{Headers: patterns.Headers{{Value: string(make([]byte, n))}}}
	}
	for name, test := range map[string]struct {
		limits     patterns.Limits
		fits, over patterns.Message
	}{
		"headers":              {patterns.Limits{}, headers(patterns.MaxHeaderBytes - 5), headers(patterns.MaxHeaderBytes - 4)},
		"the member's message": {patterns.Limits{MessageBytes: 102}, body(string(make([]byte, 100))), body(string(make([]byte, 103)))},
		"any message":          {patterns.Limits{MessageBytes: request.MaxMessage}, body("x"), body(string(make([]byte, request.MaxMessage+1)))},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
				w.member(host, 1, "geo", patterns.Service{Request: echo.ServeRequest}, test.limits)
				_, err := do(caller, test.fits)
				require.NoError(t, err)
				sent := len(caller.link(host.id).sent)
				require.Empty(t, caller.engine.Drops())

				for i, p := range []patterns.Pattern{
					patterns.PatternRequest, patterns.PatternPush, patterns.PatternTunnel,
				} {
					_, err := caller.engine.Ask(t.Context(), request.Ask{Cluster: "geo", Pattern: p, Message: test.over})
					require.ErrorIs(t, err, patterns.ErrTooLarge)
					require.EqualValues(t, i+1, caller.engine.Drops()["too_large"])
				}
				for i, p := range []patterns.Pattern{patterns.PatternSurvey, patterns.PatternBroadcast} {
					_, err := caller.engine.AskAll(t.Context(), request.All{Cluster: "geo", Pattern: p, Message: test.over}, nil)
					require.ErrorIs(t, err, patterns.ErrTooLarge)
					require.EqualValues(t, i+4, caller.engine.Drops()["too_large"])
				}
				require.Len(t, caller.link(host.id).sent, sent)
				require.Empty(t, host.engine.Drops())
			})
		})
	}
}
