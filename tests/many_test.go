// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// lines returns the lines of a text in order of the alphabet.
func lines(text string) []string {
	return slices.Sorted(slices.Values(strings.Fields(text)))
}

// objects returns the lines on standard output as objects.
func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(text) {
		var o map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &o), line)
		all = append(all, o)
	}
	return all
}

func TestSurveyAsksEverybody(t *testing.T) {
	// This test checks arke survey over two relays: replies of all members, who
	// is missing and why, and that a refusal is an answer.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	a.Serves("who", "--exec", "echo one")
	b.Serves("who", "--exec", "echo two")
	b.Serves("who", "--exec", `cat; printf "%s" "-$ARKE_PATTERN"`)
	a.Sees(3, "who")

	result := a.Does("survey", "who", "three").Ends(0)
	require.Equal(t, []string{"one", "three-survey", "two"}, lines(result.Stdout))

	all := objects(t, a.Does("survey", "who", "x", "--json").Ends(0).Stdout)
	require.Len(t, all, 4)
	last := all[3]
	require.True(t, last["complete"] == true && last["replies"] == 3.0 && len(last["missing"].([]any)) == 0, last)
	for _, answer := range all[:3] {
		require.True(t, answer["outcome"] == "reply" && answer["member"] != "" && answer["peer"] != "", answer)
	}

	refuses := b.Serves("who", "--exec", "echo not today >&2; exit 1")
	a.Sees(4, "who")
	result = a.Does("survey", "who", "three").Ends(0)
	require.Contains(t, result.Stderr, "not today")
	require.Len(t, lines(result.Stdout), 3)
	refuses.Terminate()
	a.Sees(3, "who")

	b.Serves("who", "--exec", "sleep 600")
	a.Sees(4, "who")
	result = a.Does("survey", "who", "three", "--timeout", "700ms").Ends(6).Says("3 of 4 members of who answered", "missing: ", ": deadline")
	require.Len(t, lines(result.Stdout), 3)
	a.Does("survey", "nobody", "x").Ends(3).Says("nobody serves nobody")
}

func TestPushGoesToOneMemberAndBroadcastToAll(t *testing.T) {
	// This test checks arke push and arke broadcast over two relays, and that a
	// member that takes neither says so.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	members := []*harness.Process{a.Serves("log", "--echo"), b.Serves("log", "--echo"), b.Serves("log", "--exec", `cat; echo "-by-$ARKE_PATTERN"`)}
	a.Sees(3, "log")
	printed := func() (all []string) {
		for _, m := range members {
			all = append(all, m.Printed()...)
		}
		return all
	}
	comes := func(what string, times int) {
		t.Helper()
		harness.Eventually(t, harness.Patience, fmt.Sprintf("that %q is printed %d times", what, times), func() error {
			n := 0
			for _, line := range printed() {
				if strings.HasPrefix(line, what) {
					n++
				}
			}
			if n != times {
				return fmt.Errorf("it is printed %d times: %q", n, printed())
			}
			return nil
		})
	}
	for i := range 5 {
		a.Does("push", "log", fmt.Sprintf("push%d", i)).Gets("")
	}
	pushed := object(t, a.Does("push", "log", "push5", "--json").Ends(0))
	require.True(t, pushed["outcome"] == "accepted" && pushed["member"] != "", pushed)
	for i := range 6 {
		comes(fmt.Sprintf("push%d", i), 1)
	}

	a.Does("broadcast", "log", "news").Gets("taken by 3 members on 2 nodes\n")
	comes("news", 3)
	require.Contains(t, members[2].Printed(), "news-by-broadcast")
	told := object(t, a.Does("broadcast", "log", "more", "--json").Ends(0))
	require.True(t, told["complete"] == true && told["members"] == 3.0 && told["nodes"] == 2.0, told)
	comes("more", 3)

	b.Serves("pipe", "--tunnel-echo")
	a.Sees(1, "pipe")
	a.Does("push", "pipe", "x").Ends(2).Says("pipe refused", "code 3")
	a.Does("broadcast", "pipe", "x").Ends(2).Says("0 of 1 members of pipe took it")
	a.Does("push", "nobody", "x").Ends(3).Says("nobody serves nobody")
	a.Does("broadcast", "nobody", "x").Ends(3).Says("nobody serves nobody")
	a.Does("push", "later", "x", "--wait", "--timeout", "200ms").Ends(6)
}

func TestPushedWorkIsFinishedByADrain(t *testing.T) {
	// This test checks that what a member accepted is done, though it is asked
	// to end while its queue is long.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	worker := b.Serves("jobs", "--exec", "sleep 0.1; cat; echo", "--concurrency", "1")
	a.Sees(1, "jobs")
	for i := range 8 {
		a.Does("push", "jobs", fmt.Sprintf("job%d", i)).Gets("")
	}
	worker.Terminate().Ends(0)
	var done []string
	for _, line := range worker.Printed() {
		if strings.HasPrefix(line, "job") {
			done = append(done, line)
		}
	}
	require.Len(t, done, 8)
}
