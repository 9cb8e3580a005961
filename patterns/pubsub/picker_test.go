// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

func TestQueuesBeyondWhatAMessageCanBeForAreCounted(t *testing.T) {
	// This test has more queues want a message than one can be for: so many get
	// it, and the publisher counts the others.
	l := newLone(t)
	var own []wire.Interest
	for i := range maxPicks + 6 {
		own = append(own, wire.Interest{Pattern: "w", Queue: fmt.Sprint(i), Weight: 1})
	}
	p := newPublisher(l.base, "w", false)
	left, lacking := p.send(&outgoing{topic: "w"}, &content{}, own[:maxPicks], "", waits)
	require.Empty(t, left)
	require.Empty(t, lacking)
	require.Zero(t, l.Drops()["queues"])

	o := &outgoing{topic: "w"}
	p.send(o, &content{}, own, "", waits)
	require.Len(t, o.picks, maxPicks)
	require.EqualValues(t, 6, l.Drops()["queues"])
}
