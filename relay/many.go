// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

func (c *client) handleSurvey(f *session.Survey, size int) (violation string) {
	return c.call(f.ID, f.Timeout, size,
		func(ctx context.Context) session.Frame { return c.survey(ctx, f) },
		func(why session.Failure) session.Frame { return &session.SurveyEnd{ID: f.ID, Failure: why} })
}

// survey asks everybody on behalf of the client, which gets each reply as it
// comes.
func (c *client) survey(ctx context.Context, f *session.Survey) *session.SurveyEnd {
	var lost []patterns.Missing
	each := func(r patterns.SurveyReply) error {
		err := c.passReply(ctx, f.ID, r)
		if errors.Is(err, session.ErrSenderClosed) {
			return err
		}
		if err != nil {
			c.relay.count.drop(dropSlowReply)
			lost = append(lost, patterns.Missing{Member: r.Member, Peer: r.Peer, Err: lostReply(err)})
		}
		return nil
	}
	message := patterns.Message{Headers: session.ConvertHeaders[patterns.Header](f.Headers), Body: f.Body}
	options := patterns.SurveyOptions{MaxReplies: int(f.MaxReplies), MaxBytes: clampInt(f.MaxBytes)}
	result, err := c.relay.cfg.Node.Survey(ctx, f.Cluster, message, each, options)
	if c.relay.isDraining() && nobodyAsked(err) {
		err = failure.ErrDraining
	}
	end := &session.SurveyEnd{
		ID:       f.ID,
		Failure:  failure.Of(err),
		Replies:  uint32(result.Replies - len(lost)),
		Complete: result.Complete && len(lost) == 0,
	}
	missing := append(result.Missing, lost...)
	slices.SortStableFunc(missing, func(a, b patterns.Missing) int { return strings.Compare(a.Member, b.Member) })
	end.Missing = missingFrames(missing)
	return end
}

// passReply waits until there is room for the reply, or the survey is over.
func (c *client) passReply(ctx context.Context, id uint64, r patterns.SurveyReply) error {
	_, err := c.sender.SendWait(ctx, &session.SurveyReply{
		ID:      id,
		Failure: failure.Of(r.Err),
		Member:  r.Member,
		Peer:    r.Peer,
		Headers: session.ConvertHeaders[session.Header](r.Message.Headers),
		Body:    r.Message.Body,
	})
	return err
}

// lostReply says why a reply that came did not reach the client.
func lostReply(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &patterns.DeadlineError{Cause: err, MaybeRan: true}
	}
	return fmt.Errorf("%w: its reply does not fit: %w", patterns.ErrTooLarge, err)
}

func clampInt(v uint64) int { return int(min(v, 1<<62)) }

func missingFrames(list []patterns.Missing) []session.Missing {
	var frames []session.Missing
	for i := range list {
		frames = append(frames, session.Missing{
			Member: list[i].Member, Peer: list[i].Peer, Failure: failure.Of(list[i].Err),
		})
	}
	return frames
}

func (c *client) handlePush(f *session.Push, size int) (violation string) {
	return c.call(f.ID, f.Timeout, size,
		func(ctx context.Context) session.Frame { return c.request(ctx, &f.Request, c.push) },
		func(why session.Failure) session.Frame { return &session.Reply{ID: f.ID, Failure: why} })
}

// push is an asker whose reply is empty.
func (c *client) push(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error) {
	return patterns.Message{}, c.relay.cfg.Node.Push(ctx, cluster, m, opts...)
}

func (c *client) handleBroadcast(f *session.Broadcast, size int) (violation string) {
	return c.call(f.ID, f.Timeout, size,
		func(ctx context.Context) session.Frame { return c.broadcast(ctx, f) },
		func(why session.Failure) session.Frame { return &session.BroadcastReply{ID: f.ID, Failure: why} })
}

func (c *client) broadcast(ctx context.Context, f *session.Broadcast) *session.BroadcastReply {
	message := patterns.Message{Headers: session.ConvertHeaders[patterns.Header](f.Headers), Body: f.Body}
	result, err := c.relay.cfg.Node.Broadcast(ctx, f.Cluster, message)
	if c.relay.isDraining() && nobodyAsked(err) {
		err = failure.ErrDraining
	}
	return &session.BroadcastReply{
		ID:       f.ID,
		Failure:  failure.Of(err),
		Members:  uint32(result.Members),
		Nodes:    uint32(result.Nodes),
		Complete: result.Complete,
		Missing:  missingFrames(result.Missing),
	}
}

// serveSilent hands the client a message that has no reply, and returns when
// the client has done with it. Its sender was told that it was accepted, so it
// is not refused any more: it waits for room as long as the session lives.
func (m *member) serveSilent(ctx context.Context, r *patterns.Request) {
	c := m.client
	answers := make(chan *session.Answer, 1)
	id := c.addDelivery(answers)
	defer c.removeDelivery(id)
	if _, err := c.sender.SendWait(ctx, m.deliverFrame(id, r)); err != nil {
		c.relay.count.drop(dropLostPush)
		return
	}
	select {
	case <-answers:
		return
	case <-ctx.Done():
		c.tell(&session.DeliverCancel{ID: id})
	case <-c.ctx.Done():
	}
	select {
	case <-answers:
	case <-c.ctx.Done():
		c.relay.count.drop(dropLostPush)
	}
}

// service is the member as the node sees it: it implements what the client
// does.
func (m *member) service() patterns.Service {
	var s patterns.Service
	if m.patterns&session.ServesRequests != 0 {
		s.Request = m.ServeRequest
	}
	if m.patterns&session.ServesPushes != 0 {
		s.Push = m.serveSilent
	}
	if m.patterns&session.ServesBroadcasts != 0 {
		s.Broadcast = m.serveSilent
	}
	if m.patterns&session.ServesTunnels != 0 {
		s.Tunnel = m.ServeTunnel
	}
	return s
}
