// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTopicsAreLentWhileSomebodyListens(t *testing.T) {
	// This test plays who listens in the other network, with when the gateway begins to
	// listen and ends it: at once, and after a rest.
	for name, story := range map[string][]struct {
		at   time.Duration
		on   bool
		want order
	}{
		"nobody":         {{0, false, orderNothing}, {time.Hour, false, orderNothing}},
		"comes and goes": {{0, true, orderLend}, {1, true, orderNothing}, {2, false, orderNothing}, {1 + restTime, false, orderNothing}, {2 + restTime, false, orderReturn}, {3 + restTime, false, orderNothing}, {4 + restTime, true, orderLend}},
		"back in time":   {{0, true, orderLend}, {1, false, orderNothing}, {restTime, true, orderNothing}, {restTime + 1, false, orderNothing}, {2 * restTime, false, orderNothing}, {2*restTime + 1, false, orderReturn}},
	} {
		var core listening
		for _, s := range story {
			require.Equal(t, s.want, core.step(time.Unix(0, 1).Add(s.at), s.on), "%s at %v", name, s.at)
		}
	}
	var core listening
	require.Equal(t, orderLend, core.step(time.Unix(0, 1), true))
	core.failed()
	require.Equal(t, orderLend, core.step(time.Unix(0, 2), true), "what failed is tried again")
}

func TestWhatIsWrongWithTopicsThatAreLent(t *testing.T) {
	// This test lends topics in ways that make no sense, and one that does.
	good := TopicCrossing{From: "eu", To: "us", Topic: "quotes.*", Reseal: true}
	change := func(f func(*TopicCrossing)) TopicCrossing {
		c := good
		f(&c)
		return c
	}
	cfg := Config{Networks: []Network{{Name: "eu"}, {Name: "us"}}, Topics: []TopicCrossing{good}}
	require.NoError(t, cfg.CheckTopic(0))
	require.Equal(t, "topic quotes.* of eu to us", good.String())
	require.Contains(t, change(func(c *TopicCrossing) { c.As = "rates" }).Explain(), "as rates.*, while somebody there listens; each second any number of messages")
	for _, x := range []struct {
		c    TopicCrossing
		says string
	}{
		{change(func(c *TopicCrossing) { c.From = "asia" }), "no network"},
		{change(func(c *TopicCrossing) { c.To = "eu" }), "to itself"},
		{change(func(c *TopicCrossing) { c.Topic = "*.a" }), "first word must be a name"},
		{change(func(c *TopicCrossing) { c.Topic = ">" }), "first word must be a name"},
		{change(func(c *TopicCrossing) { c.Topic = "" }), "pattern"},
		{change(func(c *TopicCrossing) { c.Topic, c.As = "other", "a.b" }), "has no points"},
		{change(func(c *TopicCrossing) { c.Topic, c.As = "other", "*" }), "topic"},
		{change(func(c *TopicCrossing) { c.Topic, c.Limits.Bytes = "other", -1 }), "negative"},
		{change(func(c *TopicCrossing) { c.Topic, c.Reseal = "other", false }), "reseal: true"},
		{change(func(c *TopicCrossing) { c.Topic = "quotes.>" }), "cross twice"},
	} {
		cfg.Topics = []TopicCrossing{good, x.c}
		require.ErrorContains(t, cfg.CheckTopic(1), x.says)
	}
}
