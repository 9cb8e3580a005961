// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cmd/arke/internal/outcome"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

func TestEveryErrorHasItsOutcomeAndExitCode(t *testing.T) {
	// This test checks the table of exit codes that scripts rely on.
	for _, tc := range []struct {
		err  error
		name string
		code int
	}{
		{nil, "reply", 0},
		{&patterns.RemoteError{Code: 7, Message: "no"}, "remote_error", 2},
		{&patterns.TunnelError{Code: 7, Message: "no"}, "remote_error", 2},
		{patterns.ErrNoMembers, "no_member", 3},
		{patterns.ErrOverloaded, "overloaded", 4},
		{patterns.ErrUnreachable, "unreachable", 5},
		{context.DeadlineExceeded, "deadline", 6},
		{&patterns.DeadlineError{Cause: context.DeadlineExceeded}, "deadline", 6},
		{patterns.ErrInterrupted, "interrupted", 7},
		{patterns.ErrUnauthorized, "unauthorized", 8},
		{patterns.ErrTooLarge, "too_large", 9},
		{patterns.ErrTooMany, "too_many", 14},
		{client.ErrTooManyTunnels, "too_many", 14},
		{client.ErrTooManySubscriptions, "too_many", 14},
		{client.ErrTooManyRegistrations, "too_many", 14},
		{client.ErrTooManyClients, "too_many", 14},
		{client.ErrTooManyRequests, "overloaded", 4},
		{client.ErrTooManyBytes, "overloaded", 4},
		{&patterns.DeadlineError{Cause: context.Canceled, MaybeRan: true}, "cancelled", 1},
		{patterns.ErrClosed, "closed", 1},
		{errors.New("else"), "other", 1},
	} {
		for _, err := range []error{tc.err, wrapped(tc.err)} {
			got := outcome.Of(err)
			require.Equal(t, tc.name, got.String(), "%v", err)
			require.Equal(t, tc.code, got.ExitCode(), "%v", err)
		}
	}
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("request to %q: %w", "zones", err)
}

func TestOutcomeNamesAreDistinct(t *testing.T) {
	// This test checks that no two outcomes share a name in JSON.
	seen := map[string]bool{}
	for o := range outcome.Count {
		name := outcome.Outcome(o).String()
		require.False(t, seen[name], name)
		seen[name] = true
	}
}
