// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
)

func TestQueuesBeyondWhatAMessageCanBeForAreCounted(t *testing.T) {
	// This test has more queues want a message than one can be for: so many get
	// it, and the publisher counts the others.
	l := newLone(t)
	var own []wire.Interest
	for i := range env.MaxPicks + 6 {
		own = append(own, wire.Interest{Pattern: "w", Queue: fmt.Sprint(i), Weight: 1})
	}
	p := newPublisher(l.base, "w", false)
	left, lacking := p.send(&fanout.Outgoing{Topic: "w"}, &fanout.Content{}, own[:env.MaxPicks], "", waits)
	require.Empty(t, left)
	require.Empty(t, lacking)
	require.Zero(t, l.Drops()["queues"])

	o := &fanout.Outgoing{Topic: "w"}
	p.send(o, &fanout.Content{}, own, "", waits)
	require.Len(t, o.Picks, env.MaxPicks)
	require.EqualValues(t, 6, l.Drops()["queues"])
}
