// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

func TestOpeningsOfTunnelsAreForTheAcceptor(t *testing.T) {
	// This test opens tunnels: what the acceptor sees, its answer on lane
	// bulk, its refusals, and that nothing is queued.
	for _, key := range []byte{0, 5} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			a := &acceptor{}
			caller := w.node("caller", func(c *request.Config) {
				if key != 0 {
					withKey(key)(c)
				}
			})
			host := w.node("host", func(c *request.Config) {
				c.Acceptor = a
				if key != 0 {
					withKey(key)(c)
				}
			})
			w.connect(caller, host)
			has := patterns.Service{Tunnel: func(context.Context, patterns.Tunnel) error { return nil }}
			s, err := host.engine.AddMember(2, "geo", has, patterns.Limits{})
			require.NoError(t, err)
			w.list("geo", &cluster.Member{ID: 2, Peer: host.id, Incarnation: 7})

			got, err := caller.engine.Ask(t.Context(), request.Ask{Cluster: "geo", Pattern: patterns.PatternTunnel, Message: secret})
			require.NoError(t, err)
			require.Equal(t, "welcome", string(got.Message.Body))
			require.Equal(t, cluster.MemberID(2), got.Member.ID)
			require.Equal(t, caller.link(host.id).Session(), got.Session)
			require.Equal(t, 1, got.Attempts)
			require.Equal(t, []overlay.Lane{overlay.LaneBulk}, host.link(caller.id).lanes)
			o := a.seen[0]
			require.Same(t, s, o.Server)
			require.Equal(t, caller.id, o.From.Peer())
			require.Equal(t, secret, patterns.Message{Headers: o.Headers, Body: o.Body})
			require.Equal(t, key != 0, o.Sealed)
			if key != 0 {
				require.EqualValues(t, 7, o.SenderIncarnation)
			}

			for _, test := range []struct{ says, want error }{
				{&patterns.Refusal{Cause: patterns.ErrOverloaded}, patterns.ErrOverloaded},
				{&patterns.Refusal{Cause: patterns.ErrTooLarge}, patterns.ErrTooLarge},
				{&patterns.RemoteError{Code: 100, Message: "no"}, &patterns.RemoteError{Cluster: "geo", Code: 100, Message: "no"}},
			} {
				a.err = test.says
				require.Equal(t, test.want, give(caller, patterns.PatternTunnel, secret))
			}
			seen := len(a.seen)
			require.NoError(t, s.Drain(t.Context()))
			require.ErrorIs(t, give(caller, patterns.PatternTunnel, secret), context.DeadlineExceeded)
			require.Len(t, a.seen, seen, "a member that leaves takes none")
		})
	}
}

type acceptor struct {
	seen []request.Opening
	err  error
}

func (a *acceptor) Accept(o request.Opening) ([]byte, error) {
	a.seen = append(a.seen, o)
	return []byte("welcome"), a.err
}
