// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

func TestZeroLimitsMeanTheDocumentedDefaults(t *testing.T) {
	// This test checks each default, that a negative queue length means "no
	// queue", and that what was set stays.
	require.Equal(t, patterns.Limits{
		Concurrency: 64, QueueLength: 1024, QueueBytes: 16 << 20, MessageBytes: 1 << 20, Capacity: 1, Tunnels: 16384,
	}, patterns.Limits{}.WithDefaults())
	require.Zero(t, patterns.Limits{QueueLength: -1}.WithDefaults().QueueLength)
	set := patterns.Limits{Concurrency: 1, QueueLength: 2, QueueBytes: 3, MessageBytes: 4, Capacity: 5, Tunnels: 6}
	require.Equal(t, set, set.WithDefaults())
}

func TestDeadlineErrorTellsItsCauseAndWhetherAHandlerMayHaveRun(t *testing.T) {
	// This test checks what errors.Is, Timeout and the text say of both causes.
	late := &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true}
	require.ErrorIs(t, late, context.DeadlineExceeded)
	require.NotErrorIs(t, late, context.Canceled)
	require.True(t, late.Timeout())
	require.Contains(t, late.Error(), "a handler may have run")

	cancelled := &patterns.DeadlineError{Cause: context.Canceled}
	require.ErrorIs(t, cancelled, context.Canceled)
	require.False(t, cancelled.Timeout())
	require.Contains(t, cancelled.Error(), "no handler ran")
}

func TestRefusalAndRemoteErrorAreToldApart(t *testing.T) {
	// This test checks that a refusal unwraps to its cause, and that neither
	// kind of error is taken for the other.
	var remote *patterns.RemoteError
	refusal := error(&patterns.Refusal{Cause: patterns.ErrOverloaded})
	require.ErrorIs(t, refusal, patterns.ErrOverloaded)
	require.False(t, errors.As(refusal, &remote))
	require.NotEmpty(t, (&patterns.Refusal{}).Error())

	said := error(&patterns.RemoteError{Cluster: "geo", Code: 404, Message: "no such place"})
	require.EqualError(t, said, `cluster "geo" refused (code 404): no such place`)
	require.NotErrorIs(t, said, patterns.ErrOverloaded)
}

func TestOptionsAddUp(t *testing.T) {
	// This test checks that each option sets its field and no other.
	var how patterns.RequestReport
	require.Equal(t, patterns.RequestOptions{}, patterns.CollectOptions(nil))
	require.Equal(t, patterns.RequestOptions{
		Idempotent: true, WaitForMember: true, Policy: patterns.PolicySticky, StickyKey: "k", Report: &how,
	}, patterns.CollectOptions([]patterns.RequestOption{
		patterns.Idempotent(), patterns.WaitForMember(), patterns.WithPolicy(patterns.PolicyRandom),
		patterns.Sticky("k"), patterns.Report(&how),
	}))
}

func TestHeadersReturnTheFirstValueOfAKey(t *testing.T) {
	// This test checks repeated, missing and differently written keys.
	h := patterns.Headers{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}}
	require.Equal(t, "1", h.Get("a"))
	require.Empty(t, h.Get("A"))
	require.Empty(t, patterns.Headers(nil).Get("a"))
}
