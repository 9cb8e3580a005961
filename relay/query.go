// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

func (c *client) handleMembers(f *session.Members, size int) (violation string) {
	return c.call(f.ID, f.Timeout, size,
		func(ctx context.Context) session.Frame { return c.listMembers(ctx, f) },
		func(why session.Failure) session.Frame { return &session.MembersReply{ID: f.ID, Failure: why} })
}

func (c *client) listMembers(ctx context.Context, f *session.Members) *session.MembersReply {
	members, err := c.relay.cfg.Node.Members(ctx, f.Cluster)
	reply := &session.MembersReply{ID: f.ID, Failure: failure.Of(err)}
	for i := range members {
		reply.Members = append(reply.Members, session.Member{
			ID:          members[i].ID,
			Peer:        members[i].Peer,
			Incarnation: members[i].Incarnation,
			Zone:        members[i].Zone,
			Capacity:    uint32(members[i].Capacity),
			State:       members[i].State,
		})
	}
	return reply
}

func (c *client) handleStatus(f *session.Status, size int) (violation string) {
	return c.call(f.ID, 0, size,
		func(context.Context) session.Frame { return &session.StatusReply{ID: f.ID, JSON: c.relay.describe()} },
		func(why session.Failure) session.Frame { return &session.StatusReply{ID: f.ID, Failure: why} })
}
