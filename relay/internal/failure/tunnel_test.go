// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// This test checks that the end of a tunnel arrives as what it was.
func TestEveryEndOfATunnelSurvivesTheTrip(t *testing.T) {
	for _, want := range []error{
		&patterns.TunnelError{Code: 404, Message: "no such room"},
		&patterns.TunnelError{},
		patterns.ErrInterrupted,
		patterns.ErrClosed,
		fmt.Errorf("%w: the node was lost", patterns.ErrInterrupted),
		&patterns.DeadlineError{Cause: context.DeadlineExceeded},
	} {
		b, err := session.Append(nil, &session.TunnelReset{ID: 1, Failure: failure.OfTunnel(want)})
		require.NoError(t, err)
		f, err := session.Decode(session.KindTunnelReset, b[5:])
		require.NoError(t, err)
		got := failure.TunnelError(f.(*session.TunnelReset).Failure)
		require.EqualError(t, got, want.Error())
		for _, sentinel := range all {
			require.Equal(t, errors.Is(want, sentinel), errors.Is(got, sentinel), "%v as %v", want, sentinel)
		}
		var wantReset, gotReset *patterns.TunnelError
		require.Equal(t, errors.As(want, &wantReset), errors.As(got, &gotReset))
		require.Equal(t, wantReset, gotReset)
	}
	// A relay that resets without a reason has ended it nevertheless.
	require.Error(t, failure.TunnelError(session.Failure{}))
}
