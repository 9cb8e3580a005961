// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strings"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/tunnel"
	"github.com/arke-mesh/arke/security"
)

// raw is what a relay needs of its node: messages as they travel, which it
// neither decodes nor encodes, and calls that do not wait. The contracts are
// those of the engines.
type raw struct{ registrations }

// Natives are described at overlay.Natives.
func (n *raw) Natives() []overlay.Native { return overlay.Natives(n.overlay) }

// Rounds are described at overlay.RoundsOf.
func (n *raw) Rounds() *overlay.Rounds { return overlay.RoundsOf(n.overlay) }

// Begin asks one member of a cluster, and does not wait: see
// request.Engine.Start. Like Request it still works while the node drains.
func (n *raw) Begin(a request.Ask, done func(request.Answer, error)) (cancel func()) {
	if err := n.reaches(a.Cluster); err != nil {
		done(request.Answer{}, err)
		return func() {}
	}
	return n.requests.Start(a, done)
}

// Everybody asks each member of a cluster: see request.Engine.AskAll.
func (n *raw) Everybody(ctx context.Context, a request.All, each request.EachFunc) (request.Tally, error) {
	if err := n.reaches(a.Cluster); err != nil {
		return request.Tally{}, err
	}
	return n.requests.AskAll(ctx, a, each)
}

// Forward is Serve for a member that lives elsewhere: f has its requests, see
// request.Engine.Forward.
func (n *raw) Forward(ctx context.Context, name string, serves request.Serves, limits patterns.Limits, f request.Forwarder) (*Forwarded, error) {
	return n.Lend(ctx, name, cluster.Registration{}, serves, limits, f)
}

// Lend is Forward for a member that a gateway lends from another network: of as it
// takes Network, Priority, Capacity and MaxMessage.
func (n *raw) Lend(ctx context.Context, name string, as cluster.Registration, serves request.Serves, limits patterns.Limits, f request.Forwarder) (*Forwarded, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return n.lend(ctx, name, as, serves, limits, f)
}

// lend is Lend for any name.
func (n *raw) lend(ctx context.Context, name string, as cluster.Registration, serves request.Serves, limits patterns.Limits, f request.Forwarder) (*Forwarded, error) {
	r, err := n.register(ctx, name, as, func(id cluster.MemberID) (*request.Server, error) {
		return n.requests.Forward(id, name, limits, serves, f)
	})
	if err != nil {
		return nil, err
	}
	return &Forwarded{r}, nil
}

// OfferPatterns has callers that find nobody for a name which matches one of the patterns
// ask f, by a survey whose body is the name. f replies with LentAnswer.
func (n *raw) OfferPatterns(ctx context.Context, all []string, limits patterns.Limits, f request.Forwarder) (*Forwarded, error) {
	as := cluster.Registration{Payload: []byte(strings.Join(all, "\n"))}
	return n.lend(ctx, federation, as, request.ServesOf(patterns.PatternSurvey), limits, f)
}

// Forwarded is the registration of a member that lives elsewhere.
type Forwarded struct{ *registration }

// ID is the member's, as it travels.
func (r *Forwarded) ID() cluster.MemberID { return r.member }

// Suspect tells callers whether they should rather ask other members: the one
// that lives elsewhere was not heard of for a while. It does not wait.
func (r *Forwarded) Suspect(on bool) { r.in.clusters.Doubt(r.cluster, r.member, on) }

// Pass has the member, registered with cluster.Registration.Passed, have those leases
// from now on. It does not wait.
func (r *Forwarded) Pass(passed map[security.ClusterID]cluster.Passed) {
	r.in.clusters.Pass(r.cluster, r.member, passed)
}

// Revise has callers know of another Capacity, MaxMessage and Networks. It does not wait.
func (r *Forwarded) Revise(as cluster.Registration) {
	as.Member = r.member
	r.in.clusters.Revise(r.cluster, as)
}

// Home is what the node's network is called.
func (n *raw) Home() string { return n.cfg.Network.Name }

// NetworkID is the id of the node's network.
func (n *raw) NetworkID() security.NetworkID { return n.cfg.Network.ID }

// Watch follows the members of a cluster: see cluster.Clusters.Watch.
func (n *raw) Watch(name string) *cluster.Watch { return n.clusters.Watch(name) }

// Proxy makes a place for subscriptions that live elsewhere: see
// pubsub.Engine.NewProxy.
func (n *raw) Proxy(s pubsub.Sink, origin uint64) *pubsub.Proxy {
	return n.topics.NewProxy(s, origin)
}

// PublishTail is Publish of headers and body as they travel: see
// pubsub.Engine.PublishTail.
func (n *raw) PublishTail(ctx context.Context, topic string, tail []byte, o patterns.PublishOptions) error {
	if err := n.publishes(topic); err != nil {
		return err
	}
	return n.topics.PublishTail(ctx, topic, tail, o)
}

// TryPublishTail is PublishTail, but returns patterns.ErrWouldBlock where that
// would wait, and has sent nothing then.
func (n *raw) TryPublishTail(topic string, tail []byte, o patterns.PublishOptions) error {
	if err := n.publishes(topic); err != nil {
		return err
	}
	return n.topics.TryPublishTail(topic, tail, o)
}

// PublishRun is PublishTail of several messages: see pubsub.PublishRun.
func (n *raw) PublishRun(ctx context.Context, topic string, run wire.Messages, count int, o patterns.PublishOptions) (done, failed int, err error) {
	if err := n.publishes(topic); err != nil {
		return 0, count, err
	}
	return pubsub.PublishRun(ctx, n.topics, topic, run, count, o)
}

// TryPublishRun is PublishRun, but returns patterns.ErrWouldBlock where that would wait.
func (n *raw) TryPublishRun(topic string, run wire.Messages, count int, o patterns.PublishOptions) (done, failed int, err error) {
	if err := n.publishes(topic); err != nil {
		return 0, count, err
	}
	return pubsub.TryPublishRun(n.topics, topic, run, count, o)
}

// Lender makes a place for subscriptions whose messages go to the network of that id, and
// says in which queue: see pubsub.NewLender.
func (n *raw) Lender(s pubsub.Sink, to security.NetworkID) (p *pubsub.Proxy, queue string) {
	return pubsub.NewLender(n.topics, s), pubsub.LentQueue(to)
}

// Carrier publishes what comes from another network, under one first word: see
// pubsub.NewCarrier.
func (n *raw) Carrier(network, group string) (*pubsub.Carrier, error) {
	if err := n.running(); err != nil {
		return nil, err
	}
	return pubsub.NewCarrier(n.topics, network, group)
}

// Passages makes a place for sealed tunnels that this node's peers open to members in the
// network of another one, which neither can open: see tunnel.NewPassages.
func (n *raw) Passages(far *Node, bytes int) *tunnel.Passages {
	return tunnel.NewPassages(n.tunnels, far.tunnels, bytes)
}

// Hop makes a place for tunnels that are joined here with others: see
// tunnel.Engine.NewHop.
func (n *raw) Hop(c tunnel.HopConfig) *tunnel.Hop { return n.tunnels.NewHop(c) }
