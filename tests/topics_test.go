// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// gets waits until the process has printed so many lines and returns them.
func gets(t *testing.T, p *harness.Process, count int) []string {
	t.Helper()
	harness.AtLeast(t, count, "lines printed", func() int { return len(p.Printed()) })
	return p.Printed()
}

func TestPublishedLinesReachEverySubscriberInOrder(t *testing.T) {
	// This test checks arke publish and arke subscribe over two relays: patterns,
	// order, JSON, and that --count ends a subscription.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	exact := a.Subscribes("weather.berlin.temperature", "--count", "100")
	word := b.Subscribes("weather.*.temperature")
	rest := b.Subscribes("weather.>", "--json")
	other := b.Subscribes("traffic.>")
	root := b.Subscribes("*.berlin.>")

	var text strings.Builder
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprintf("%d degrees", i))
		fmt.Fprintln(&text, want[i])
	}
	a.Reads(text.String(), "publish", "weather.berlin.temperature", "-").Gets("")
	for _, p := range []*harness.Process{exact, word, root} {
		require.Equal(t, want, gets(t, p, 100))
	}
	exact.Ends(0)
	for i, o := range objects(t, strings.Join(gets(t, rest, 100), "\n")) {
		require.True(t, o["topic"] == "weather.berlin.temperature" && o["from"] == a.Peer() && o["body"] == want[i], o)
	}
	sent := object(t, b.Does("publish", "weather.paris.temperature", "30", "--count", "3", "--rate", "100", "--json").Ends(0))
	require.Equal(t, 3.0, sent["sent"])
	require.Equal(t, []string{"30", "30", "30"}, gets(t, word, 103)[100:])
	require.Len(t, other.Printed(), 0)
	word.Terminate().Ends(0)
	a.Does("publish", "nobody.listens", "x").Gets("")
}

func TestQueueSharesTheMessages(t *testing.T) {
	// This test checks --queue: of the subscribers of one group each message
	// goes to exactly one, of two groups to one each.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	first := []*harness.Process{a.Subscribes("jobs.new", "--queue", "workers"), b.Subscribes("jobs.new", "--queue", "workers")}
	second := b.Subscribes("jobs.>", "--queue", "audit")
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "job%d\n", i)
	}
	a.Reads(text.String(), "publish", "jobs.new", "-").Gets("")
	gets(t, second, 200)
	harness.AtLeast(t, 200, "jobs taken", func() int { return len(first[0].Printed()) + len(first[1].Printed()) })
	all := slices.Concat(first[0].Printed(), first[1].Printed())
	slices.Sort(all)
	require.Len(t, all, 200)
	require.Len(t, slices.Compact(all), 200)
	for _, p := range first {
		require.NotEmpty(t, p.Printed(), "one worker got nothing")
	}
}

func TestSubscriberSurvivesItsRelay(t *testing.T) {
	// This test checks that a subscription is made again when its relay is back,
	// after kill -9.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	sub := b.Subscribes("news.>")
	a.Does("publish", "news.one", "before").Gets("")
	gets(t, sub, 1)
	b.Kill()
	b.Restart()
	harness.Eventually(t, harness.Patience, "that a message comes again", func() error {
		a.Does("publish", "news.two", "after")
		if !slices.Contains(sub.Printed(), "after") {
			return errors.New("none has come")
		}
		return nil
	})
}
