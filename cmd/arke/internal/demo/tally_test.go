// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTallyFindsTheMomentsOfTheStory(t *testing.T) {
	// This test checks what counts as affected by the kill (a retry or a loss
	// that ends between the kill and the return) and as the member's return
	// (its first reply to a request that began after the relay's new start).
	tally := newTally("zones-3", time.Now())
	begin := time.Now()
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	reply := func(member string, attempts, from, to int) {
		tally.add(answer{member: member, attempts: attempts, begin: at(from), end: at(to)})
	}
	reply("zones-1", 2, 0, 5) // a retry before the kill is no matter
	reply("zones-3", 1, 0, 5)
	tally.killed = at(10)
	reply("zones-1", 2, 9, 12)
	reply("zones-2", 2, 9, 14)
	reply("zones-2", 1, 20, 21)
	tally.restart = at(3000)
	reply("zones-1", 2, 3000, 3001) // nor is one after the return
	reply("zones-3", 1, 2999, 3050)
	reply("zones-3", 1, 3100, 3101)
	reply("zones-3", 1, 3200, 3201)

	report := tally.report()
	require.Equal(t, 9, report.Requests)
	require.Equal(t, 4, report.Retried)
	require.Equal(t, 4*time.Millisecond, report.Affected)
	require.Equal(t, 101*time.Millisecond, report.Returned)
	require.Equal(t, map[string]int{"zones-1": 3, "zones-2": 2, "zones-3": 4}, report.Members)
	require.NoError(t, report.Err())
}

func TestReportFailsIfAnythingWasWrongOrLost(t *testing.T) {
	// This test checks what the demo's exit status depends on.
	now := time.Now()
	fill := func(a answer) Report {
		tally := newTally("zones-3", time.Now())
		tally.killed, tally.restart = now, now
		tally.add(answer{member: "zones-3", attempts: 1, begin: now.Add(1), end: now.Add(2)})
		a.begin, a.end = now, now
		tally.add(a)
		return tally.report()
	}
	require.NoError(t, fill(answer{member: "zones-1"}).Err())
	require.ErrorContains(t, fill(answer{err: errors.New("no luck")}).Err(), "0 wrong and 1 lost of 2 requests, the first: no luck")
	require.ErrorContains(t, fill(answer{member: "zones-1", wrong: errors.New("bad reply")}).Err(), "bad reply")
	require.ErrorContains(t, newTally("zones-3", time.Now()).report().Err(), "did not serve again")
}

func TestReportHasEveryFigure(t *testing.T) {
	// This test checks the names in the JSON, and that the table has a line
	// for each member.
	tally := newTally("zones-3", time.Now())
	now := time.Now()
	tally.add(answer{member: "zones-1", begin: now, end: now.Add(time.Millisecond)})
	tally.add(answer{member: "zones-2", begin: now, end: now.Add(time.Millisecond)})
	raw, err := json.Marshal(tally.report())
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(raw, &got))
	for _, key := range []string{
		"zones", "requests", "wrong", "lost", "retried", "members", "latency_us",
		"kill_to_last_affected_ms", "return_to_serving_ms", "seconds",
	} {
		require.Contains(t, got, key)
	}
	require.Equal(t, map[string]any{"zones-1": 0.5, "zones-2": 0.5}, got["members"])

	var table bytes.Buffer
	require.NoError(t, tally.report().Write(&table))
	require.Contains(t, table.String(), "zones-1")
	require.Contains(t, table.String(), "50.0 %")
}
