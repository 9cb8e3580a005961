// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

func TestEveryErrorHasItsOutcomeAndExitStatus(t *testing.T) {
	// This test checks the table that scripts rely on, by name and status.
	for _, tc := range []struct {
		err    error
		name   string
		status int
	}{
		{nil, "reply", 0},
		{&patterns.RemoteError{Code: 7, Message: "no"}, "remote_error", 2},
		{&patterns.TunnelError{Code: 7, Message: "no"}, "remote_error", 2},
		{patterns.ErrNoMembers, "no_members", 3},
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
		{patterns.ErrTopic, "topic", 1},
		{patterns.ErrWouldBlock, "would_block", 1},
		{errors.New("else"), "other", 1},
		{errors.Join(patterns.ErrOverloaded, patterns.ErrInterrupted), "interrupted", 7},
	} {
		for _, err := range []error{tc.err, wrapped(tc.err)} {
			got := patterns.OutcomeOf(err)
			require.Equal(t, tc.name, got.String(), "%v", err)
			require.Equal(t, tc.status, patterns.ExitStatus(got), "%v", err)
		}
	}
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("request to %q: %w", "zones", err)
}

func TestOutcomesHaveNamesOfTheirOwn(t *testing.T) {
	// No two outcomes share a name in JSON, and none is without.
	seen := map[string]bool{}
	for o := range patterns.Outcome(patterns.OutcomeCount) {
		require.False(t, seen[o.String()], o)
		seen[o.String()] = true
	}
	require.NotContains(t, seen, "unknown")
	require.Equal(t, "unknown", patterns.Outcome(patterns.OutcomeCount).String())
	require.Equal(t, 1, patterns.ExitStatus(patterns.OutcomeCount), "a newer release's")
}

func TestEveryErrorSurvivesTheTrip(t *testing.T) {
	// An error that travels arrives as what it was: the same sentinels match, no
	// others do, and the text is the same.
	for _, err := range []error{
		patterns.ErrNoMembers, patterns.ErrOverloaded, patterns.ErrUnreachable, patterns.ErrInterrupted,
		patterns.ErrUnauthorized, patterns.ErrTooLarge, patterns.ErrClosed, patterns.ErrTopic, patterns.ErrTooMany, patterns.ErrWouldBlock,
		fmt.Errorf("three members were asked: %w", patterns.ErrOverloaded),
		&patterns.RemoteError{Cluster: "geo", Code: 404, Message: "no such place"},
		&patterns.RemoteError{Cluster: "geo"},
		&patterns.DeadlineError{Cause: context.DeadlineExceeded},
		&patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true},
		&patterns.DeadlineError{Cause: context.Canceled, MaybeRan: true},
		errors.New("disk full"),
	} {
		got := patterns.FailureOf(err).Err("geo")
		require.Equal(t, err.Error(), got.Error())
		for _, sentinel := range []error{
			patterns.ErrNoMembers, patterns.ErrOverloaded, patterns.ErrUnreachable, patterns.ErrInterrupted, patterns.ErrUnauthorized,
			patterns.ErrTooLarge, patterns.ErrClosed, patterns.ErrTopic, patterns.ErrTooMany, patterns.ErrWouldBlock,
			context.DeadlineExceeded, context.Canceled,
		} {
			require.Equal(t, errors.Is(err, sentinel), errors.Is(got, sentinel), "%v is %v", err, sentinel)
		}
		require.Equal(t, patterns.FailureOf(err).MaybeRan, patterns.FailureOf(got).MaybeRan, err)
	}
	require.NoError(t, patterns.FailureOf(nil).Err("geo"))
	for _, err := range []error{context.DeadlineExceeded, context.Canceled} {
		require.True(t, patterns.FailureOf(err).MaybeRan, "nobody has said that no handler ran")
	}
	for o := patterns.Outcome(1); o < patterns.OutcomeCount; o++ {
		require.NotEmpty(t, patterns.Failure{Outcome: o}.Err("geo").Error(), "no outcome is mute")
	}
}

// limited is an error that says which limit it is about.
type limited struct{ error }

func (limited) LimitCode() uint32 { return 3 }

func (l limited) Unwrap() error { return l.error }

func TestALimitHasACode(t *testing.T) {
	// Which limit of a session was met travels as a number.
	f := patterns.FailureOf(limited{patterns.ErrTooMany})
	require.Equal(t, patterns.OutcomeTooMany, f.Outcome)
	require.EqualValues(t, 3, f.Code)
}

func TestTheReadmeSaysTheSame(t *testing.T) {
	// The table of outcomes in the README agrees with that of the program: each
	// error with its exit status.
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	errs := map[string]error{
		"nil": nil, "*arke.RemoteError": &patterns.RemoteError{}, "arke.ErrNoMembers": patterns.ErrNoMembers,
		"arke.ErrOverloaded": patterns.ErrOverloaded, "arke.ErrUnreachable": patterns.ErrUnreachable,
		"context.DeadlineExceeded": context.DeadlineExceeded, "context.Canceled": context.Canceled, "arke.ErrInterrupted": patterns.ErrInterrupted,
		"arke.ErrUnauthorized": patterns.ErrUnauthorized, "arke.ErrTooLarge": patterns.ErrTooLarge,
		"arke.ErrTooMany": patterns.ErrTooMany, "arke.ErrClosed": patterns.ErrClosed,
	}
	_, table, found := strings.Cut(string(text), "| outcome | in Go |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := 0
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(row, "|")
		name := strings.Trim(strings.Split(cells[2], ",")[0], " `")
		status, err := strconv.Atoi(strings.TrimSpace(cells[3]))
		require.NoError(t, err, row)
		of, known := errs[name]
		require.True(t, known, row)
		require.Equal(t, patterns.ExitStatus(patterns.OutcomeOf(of)), status, row)
		rows++
	}
	require.Len(t, errs, rows)
}
