// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// This test drains a relay while one of its clients has not answered the survey
// of another: the drain waits for it, the caller gets the reply and an end that
// is complete, and both get their goodbye after it.
func TestADrainFinishesASurvey(t *testing.T) {
	r, n, cfg := start(t, nil)
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.register(1, "geo")
	caller.send(&session.Survey{ID: 1, Cluster: "geo"})
	d := expect[*session.Deliver](server)

	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(context.Background()) }()
	expect[*session.Drain](server)
	expect[*session.Drain](caller)
	eventually(t, func() bool { return len(n.Limits("geo")) == 0 }, "the member does not leave")
	time.Sleep(20 * time.Millisecond)
	require.Empty(t, ended)

	server.send(&session.Answer{ID: d.ID, Body: []byte("ho")})
	require.Equal(t, "ho", string(expect[*session.SurveyReply](caller).Body))
	end := expect[*session.SurveyEnd](caller)
	require.EqualValues(t, 1, end.Replies)
	require.True(t, end.Complete)
	for _, b := range []*binding{server, caller} {
		expect[*session.Goodbye](b)
		b.conn.Close()
	}
	require.NoError(t, <-ended)
}

// This test drains a relay while a client works on a broadcast that it has
// accepted: its sender was told so before, and the drain waits for the work.
func TestADrainFinishesABroadcast(t *testing.T) {
	r, _, cfg := start(t, nil)
	server, caller := attach(t, cfg.Socket), attach(t, cfg.Socket)
	server.register(1, "geo")
	caller.send(&session.Broadcast{ID: 1, Cluster: "geo"})
	d := expect[*session.Deliver](server)
	require.Equal(t, uint8(patterns.PatternBroadcast), d.Pattern)
	reply := expect[*session.BroadcastReply](caller)
	require.EqualValues(t, 1, reply.Members)
	require.True(t, reply.Complete)

	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(context.Background()) }()
	expect[*session.Drain](server)
	time.Sleep(20 * time.Millisecond)
	require.Empty(t, ended)
	server.send(&session.Answer{ID: d.ID})
	for _, b := range []*binding{server, caller} {
		if b == caller {
			expect[*session.Drain](b)
		}
		expect[*session.Goodbye](b)
		b.conn.Close()
	}
	require.NoError(t, <-ended)
	require.Empty(t, r.Status().Drops)
}
