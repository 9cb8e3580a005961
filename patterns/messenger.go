// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash/fnv"
)

// Messenger is what a program needs of Arke. An embedded *node.Node and an
// attached *client.Client both are one, so that a program changes one line to
// switch. All methods may be called concurrently.
type Messenger interface {
	// Serve registers h as a member of the cluster and returns when the
	// registration is acknowledged. The member lives until the registration
	// or the Messenger is closed; ctx bounds only the registration.
	Serve(ctx context.Context, cluster string, h Handler, limits Limits) (Registration, error)

	// Request sends m to one live member of the cluster and waits for the one
	// outcome. Without a deadline in ctx it has 5 s. The caller keeps m.Body
	// and must not change it before Request returns.
	Request(ctx context.Context, cluster string, m Message, opts ...RequestOption) (Message, error)

	// Survey sends m to every live member of the cluster and calls each, one
	// at a time, with every answer as it comes. It ends when everybody has
	// answered, failed, or is late: by ctx, or after 5 s if ctx has no
	// deadline. That is no error: the result names who is missing. Nobody is
	// asked twice. each may be nil, for those who only count. An error of each ends the survey and is returned, and so
	// are ErrNoMembers, ErrUnreachable, ErrTooLarge and ErrClosed, if nobody
	// was asked.
	Survey(ctx context.Context, cluster string, m Message, each func(SurveyReply) error, o SurveyOptions) (SurveyResult, error)

	// Push sends m to one live member and returns when that member's queue
	// has it. Errors, options and default deadline are those of Request.
	Push(ctx context.Context, cluster string, m Message, opts ...RequestOption) error

	// Broadcast sends m to every live member, at most once each, and returns
	// when all have taken it, failed, or are late (by ctx, or after 5 s).
	// Errors are those of Survey. What one caller broadcasts one after the
	// other comes to each member's queue in that order.
	Broadcast(ctx context.Context, cluster string, m Message) (BroadcastResult, error)

	// Publish sends m to every subscription that matches the topic, and
	// returns when it is in the lanes to their nodes: who is slow, or lost on
	// the way, is told of a gap. Nobody listening is no error. It waits for
	// room in the lanes, and at first for the list of subscribers, until ctx
	// ends (5 s if ctx has no deadline). Body and headers are at most 1 MiB.
	// Errors: ErrTopic, ErrTooLarge, ErrUnreachable if nobody who knows the
	// subscribers could be asked, ErrUnauthorized, ErrClosed, a *DeadlineError.
	Publish(ctx context.Context, topic string, m Message, opts ...PublishOption) error

	// TryPublish is Publish, but returns ErrWouldBlock where Publish would
	// wait, and has sent nothing then.
	TryPublish(topic string, m Message, opts ...PublishOption) error

	// Subscribe has s called with what is published on topics that match the
	// pattern, and returns when the subscription is acknowledged: what any
	// node publishes a moment later is for it, too. ctx bounds only that.
	// Errors: ErrTopic, ErrTooMany, ErrUnreachable, ErrClosed, ctx's.
	Subscribe(ctx context.Context, pattern string, s Subscriber, o SubscribeOptions) (Subscription, error)

	// OpenTunnel opens a tunnel to one live member, which sees first as
	// TunnelInfo.Open, and returns when the member has accepted it. ctx
	// bounds only the opening. Errors, options and default deadline are those
	// of Request.
	OpenTunnel(ctx context.Context, cluster string, first Message, opts ...RequestOption) (Tunnel, error)

	// Members lists who serves the cluster now, in the order of member ids.
	// It returns ErrNoMembers or ErrUnreachable as Request would.
	Members(ctx context.Context, cluster string) ([]Member, error)

	// MembersAfter is Members, but waits for half of its time until the list, or
	// the error, is another than the one that version stands for (VersionOf); ""
	// stands for none.
	MembersAfter(ctx context.Context, cluster, version string) ([]Member, error)

	// Shutdown drains: it leaves its clusters, ends its subscriptions,
	// finishes what was accepted until ctx ends (tunnels too: their handlers
	// return, and those that were opened here end), then closes.
	Shutdown(ctx context.Context) error

	// Close ends everything at once. It is idempotent and waits.
	Close() error
}

// HeaderVersion is the header of a request for a list of members that has
// MembersAfter's version.
const HeaderVersion = "version"

// VersionOf is a text that differs for different results of Members.
func VersionOf(all []Member, err error) string {
	if err != nil {
		return OutcomeOf(err).String()
	}
	h := fnv.New128a()
	for _, m := range all {
		fmt.Fprintf(h, "%s %s %q %d %q %s %d %s\n", m.ID, m.Peer, m.Name, m.Incarnation, m.Zone, m.Network, m.Capacity, m.State)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Registration is one member of a cluster.
type Registration interface {
	// Member is the member's id: 16 hexadecimal digits, new at each Serve.
	Member() string
	// Close drains this member: it leaves the cluster, finishes what it
	// accepted until ctx ends, and is gone. Idempotent.
	Close(ctx context.Context) error
}

// Member describes one live member as its callers see it.
type Member struct {
	ID          string `json:"id"`             // 16 hexadecimal digits
	Peer        string `json:"peer"`           // peer id of its node
	Name        string `json:"name,omitempty"` // what people call its node, if it has a certificate, or the caller's node has had a link to it: any text, to be escaped
	Incarnation uint64 `json:"incarnation"`
	Zone        string `json:"zone,omitempty"`
	Network     string `json:"network,omitempty"` // that it is from, if the caller's node knows the name of its own
	Capacity    int    `json:"capacity"`
	State       string `json:"state"` // live, suspect, ejected, or unreachable
}
