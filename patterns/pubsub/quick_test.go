// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/internal/fake"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// rooted is a stage with a forwarder of the root group.
type rooted struct {
	*stage
	root registrations
}

func (f *rooted) Watch(name string) env.Watch {
	if name == env.ClusterOf(env.RootForwards) {
		return f.root.Watch(name)
	}
	return f.stage.Watch(name)
}

func TestWhatIsAddedForOneNodeGoesToTheRootGroupToo(t *testing.T) {
	// This test publishes to one node while its link takes nothing, so that each message is
	// only added to the first one, and to a forwarder of the root group. Where that has no
	// room Publish waits for it, and at the end of its context the forwarder misses the
	// message, which the node has.
	synctest.Test(t, func(t *testing.T) {
		f := &rooted{stage: newStage(t, wants("news.>"))}
		node, root := f.links["n00"], &fake.Link{With: "root", Life: 1, Room: -1}
		f.links["root"] = root
		f.root.show(cluster.View{Known: true, Complete: true, Members: []*cluster.Member{{ID: 9, Peer: "root", Incarnation: 1}}})
		f.base.Cfg.Directory = f
		node.Gathers = true
		f.say(t, "one")
		f.say(t, "two")
		f.say(t, "three")
		require.Equal(t, []string{"one #1 + two #2 + three #3"}, node.Said())
		require.Positive(t, len(root.Said()))
		f.say(t, "four") // begins a frame

		root.Room, root.Roomy = 0, make(chan struct{})
		ended, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := f.Publish(ended, "news.a", patterns.Message{Body: []byte("five")}, patterns.PublishOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, []string{"four #4 + five #5"}, node.Said())
		require.Len(t, root.Said(), 1)
		require.EqualValues(t, 1, f.Drops()[env.DropLane.String()])
		require.EqualValues(t, 5, f.Status().Published)
	})
}
