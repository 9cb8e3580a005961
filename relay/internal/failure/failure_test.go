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

// all are the errors that a program can tell apart.
var all = []error{
	patterns.ErrNoMembers, patterns.ErrOverloaded, patterns.ErrUnreachable, patterns.ErrInterrupted,
	patterns.ErrUnauthorized, patterns.ErrTooLarge, patterns.ErrClosed,
	context.DeadlineExceeded, context.Canceled,
	failure.ErrTooManyRegistrations, failure.ErrTooManyRequests, failure.ErrTooManyBytes, failure.ErrDraining,
	failure.ErrTooManyTunnels, failure.ErrTooManySubscriptions, patterns.ErrTooMany,
	patterns.ErrTopic, patterns.ErrWouldBlock,
}

// trip sends err through the bytes of a Reply.
func trip(t *testing.T, err error) (session.Failure, error) {
	t.Helper()
	b, encodeErr := session.Append(nil, &session.Reply{ID: 1, Failure: failure.Of(err)})
	require.NoError(t, encodeErr)
	f, decodeErr := session.Decode(session.KindReply, b[5:])
	require.NoError(t, decodeErr)
	got := f.(*session.Reply).Failure
	return got, failure.Error(got, "geo")
}

// This test checks that every error of a call arrives as what it was: the same
// sentinels match, no others do, and the text is the same.
func TestEveryErrorOfACallSurvivesTheTrip(t *testing.T) {
	tests := []error{
		patterns.ErrNoMembers,
		patterns.ErrOverloaded,
		patterns.ErrUnreachable,
		patterns.ErrInterrupted,
		patterns.ErrUnauthorized,
		patterns.ErrTooLarge,
		patterns.ErrClosed,
		fmt.Errorf("three members were asked: %w", patterns.ErrOverloaded),
		fmt.Errorf("%w (and before: %w)", patterns.ErrUnreachable, errors.New("no route")),
		&patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true},
		&patterns.DeadlineError{Cause: context.DeadlineExceeded},
		&patterns.DeadlineError{Cause: context.Canceled, MaybeRan: true},
		&patterns.DeadlineError{Cause: context.Canceled},
		&patterns.RemoteError{Cluster: "geo", Code: 404, Message: "no such place"},
		&patterns.RemoteError{Cluster: "geo", Code: patterns.CodePanic},
		failure.ErrTooManyRegistrations,
		failure.ErrTooManyRequests,
		failure.ErrTooManyBytes,
		failure.ErrTooManyTunnels,
		failure.ErrTooManySubscriptions,
		patterns.ErrTooMany,
		fmt.Errorf("%w: empty word", patterns.ErrTopic),
		patterns.ErrWouldBlock,
		fmt.Errorf("%w: 4096 at once", failure.ErrTooManyRequests),
		failure.ErrDraining,
		errors.New("cluster: name is empty"),
	}
	for _, want := range tests {
		_, got := trip(t, want)
		require.EqualError(t, got, want.Error())
		for _, sentinel := range all {
			require.Equal(t, errors.Is(want, sentinel), errors.Is(got, sentinel), "%v as %v", want, sentinel)
		}
		var wantRemote, gotRemote *patterns.RemoteError
		require.Equal(t, errors.As(want, &wantRemote), errors.As(got, &gotRemote))
		require.Equal(t, wantRemote, gotRemote)
		var wantLate, gotLate *patterns.DeadlineError
		require.Equal(t, errors.As(want, &wantLate), errors.As(got, &gotLate))
		require.Equal(t, wantLate, gotLate)
	}
	f, got := trip(t, nil)
	require.NoError(t, got)
	require.Zero(t, f)
}

// This test checks that a bare context error, of which nobody said whether a
// handler ran, is not taken for one that says none did.
func TestABareContextErrorMayHaveRun(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, context.Canceled} {
		f, got := trip(t, err)
		require.True(t, f.MaybeRan)
		require.ErrorIs(t, got, err)
	}
}

// This test checks that an interruption is not hidden by what a later attempt
// ended with.
func TestAnInterruptionOutweighsALaterRefusal(t *testing.T) {
	_, got := trip(t, errors.Join(patterns.ErrOverloaded, patterns.ErrInterrupted))
	require.ErrorIs(t, got, patterns.ErrInterrupted)
}

// This test checks that every outcome becomes an error with a text, also one
// without any.
func TestNoOutcomeIsMute(t *testing.T) {
	for o := session.Outcome(1); o.String() != "unknown"; o++ {
		err := failure.Error(session.Failure{Outcome: o}, "geo")
		require.Error(t, err, o)
		require.NotEmpty(t, err.Error(), o)
	}
}

// This test checks what becomes of whatever a handler returns: everything is
// its own refusal, except for what it says on behalf of somebody else.
func TestEveryAnswerOfAHandlerSurvivesTheTrip(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want error
	}{
		{"a reply", nil, nil},
		{
			"a remote error", &patterns.RemoteError{Code: 404, Message: "no such place"},
			&patterns.RemoteError{Code: 404, Message: "no such place"},
		},
		{
			"a wrapped one", fmt.Errorf("geo: %w", &patterns.RemoteError{Code: 404, Message: "no such place"}),
			&patterns.RemoteError{Code: 404, Message: "no such place"},
		},
		{"any error", errors.New("disk full"), &patterns.RemoteError{Message: "disk full"}},
		{
			"a failed request of its own", patterns.ErrOverloaded,
			&patterns.RemoteError{Message: patterns.ErrOverloaded.Error()},
		},
		{
			"an interrupted request of its own", patterns.ErrInterrupted,
			&patterns.RemoteError{Message: patterns.ErrInterrupted.Error()},
		},
		{"busy elsewhere", &patterns.Refusal{Cause: patterns.ErrOverloaded}, &patterns.Refusal{Cause: patterns.ErrOverloaded}},
		{"leaving elsewhere", &patterns.Refusal{Cause: patterns.ErrClosed}, &patterns.Refusal{Cause: patterns.ErrClosed}},
		{"too large elsewhere", &patterns.Refusal{Cause: patterns.ErrTooLarge}, &patterns.Refusal{Cause: patterns.ErrTooLarge}},
		{"no right elsewhere", &patterns.Refusal{Cause: patterns.ErrUnauthorized}, &patterns.Refusal{Cause: patterns.ErrUnauthorized}},
		{"lost elsewhere", &patterns.Refusal{Cause: patterns.ErrInterrupted}, &patterns.Refusal{Cause: patterns.ErrInterrupted}},
		{"anything elsewhere", &patterns.Refusal{Cause: errors.New("x")}, &patterns.Refusal{Cause: patterns.ErrInterrupted}},
		{"nothing elsewhere", &patterns.Refusal{}, &patterns.Refusal{Cause: patterns.ErrInterrupted}},
	}
	for _, tt := range tests {
		b, err := session.Append(nil, &session.Answer{ID: 1, Failure: failure.OfHandler(tt.err)})
		require.NoError(t, err, tt.name)
		f, err := session.Decode(session.KindAnswer, b[5:])
		require.NoError(t, err, tt.name)
		got, ok := failure.HandlerError(f.(*session.Answer).Failure)
		require.True(t, ok, tt.name)
		require.Equal(t, tt.want, got, tt.name)
	}

	got, ok := failure.HandlerError(failure.OfPanic("nil map"))
	require.True(t, ok)
	require.Equal(t, &patterns.RemoteError{Code: patterns.CodePanic, Message: "nil map"}, got)

	_, ok = failure.HandlerError(session.Failure{Outcome: session.OutcomeNoMembers})
	require.False(t, ok)
}
