// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/verb"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// Node is one participant of the network. All methods may be called
// concurrently. What still works while it drains does so because handlers that
// finish what they accepted may need it.
type Node struct {
	raw

	// Lifecycle.
	closeOnce sync.Once
	closeErr  error
}

var _ patterns.Messenger = (*Node)(nil)

// Phases of a node's life, in their order.
const (
	phaseNew uint32 = iota
	phaseRunning
	phaseDraining
	phaseClosed
)

// life says what a node takes in its present phase.
type life struct {
	phase atomic.Uint32
	since atomic.Pointer[time.Time] // when the node was started; nil = it was not
}

// ran is how long the node has run, however its wall clock was set meanwhile.
func (l *life) ran(now time.Time) time.Duration {
	if since := l.since.Load(); since != nil {
		return now.Sub(*since)
	}
	return 0
}

// running returns why the node can't be used, if so.
func (l *life) running() error {
	switch l.phase.Load() {
	case phaseNew:
		return ErrNotStarted
	case phaseClosed:
		return patterns.ErrClosed
	}
	return nil
}

// accepting returns why the node takes no registrations, if so.
func (l *life) accepting() error {
	if l.phase.Load() == phaseDraining {
		return patterns.ErrClosed
	}
	return l.running()
}

// reaches returns why nothing can be sent to the cluster, if so.
func (s *registrations) reaches(name string) error {
	if err := s.running(); err != nil {
		return err
	}
	if err := CheckName(name); err != nil {
		return err
	}
	if err := s.keys.knows(name); err != nil {
		return err
	}
	return s.credentials.may(verb.Call, name)
}

// publishes returns why nothing can be published to the topic, if so.
func (s *registrations) publishes(topic string) error {
	if err := s.running(); err != nil {
		return err
	}
	return s.credentials.Own(verb.Publish, topic)
}

// topicPrefix begins the names of the clusters that are groups of topics.
const topicPrefix = "topic:"

// CheckName says why no program may serve or call a cluster of that name, nil if it
// may: the names of groups of topics, whose members are nodes that subscribe, not
// services, and those that Arke keeps for itself.
func CheckName(s string) error {
	switch {
	case strings.HasPrefix(s, topicPrefix):
		return fmt.Errorf("%w: %q: names that begin with %q are those of topics", cluster.ErrName, s, topicPrefix)
	case strings.HasPrefix(s, name.Reserved):
		return fmt.Errorf("%w: %q: names that begin with %s are reserved", cluster.ErrName, s, name.Reserved)
	}
	return nil
}

// New checks cfg, and opens the data directory: the node needs its key and its
// incarnation. It starts nothing. Close the node, even if it is never started.
func New(cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	network, err := security.NewNetwork(cfg.Network)
	if err != nil {
		return nil, err
	}
	s, err := openState(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	l := &layers{cfg: cfg, state: s}
	if err := l.assemble(network); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return &Node{raw: raw{registrations{
		layers: l, life: &life{}, ids: l.outside.Rand.Stream("node.members"),
		members: make(map[cluster.MemberID]*registration),
	}}}, nil
}

// Start begins to listen and to look for the network; ctx bounds only Start
// itself. A node that could not start must still be closed.
func (n *Node) Start(ctx context.Context) error {
	if n.phase.Load() != phaseNew {
		return errors.New("node: started twice, or closed")
	}
	if err := n.start(ctx); err != nil {
		return err
	}
	since := n.outside.Clock.Now()
	n.since.Store(&since)
	n.phase.CompareAndSwap(phaseNew, phaseRunning)
	return nil
}

// log is where the node itself logs.
func (l *layers) log() *zap.Logger { return l.cfg.Logger.Named("node") }

// Self is the node's peer id.
func (n *Node) Self() peer.ID { return n.overlay.Self() }

// Addrs are the multiaddrs, without /p2p, that others reach the node at. The
// caller owns the slice.
func (n *Node) Addrs() []string { return n.overlay.Addrs() }

// Shutdown implements patterns.Messenger. The package documentation has its
// steps; if ctx ends, what is left of them is cut short, and ctx's error is
// returned. A second call, and one after Close, only closes.
func (n *Node) Shutdown(ctx context.Context) error {
	if !n.phase.CompareAndSwap(phaseRunning, phaseDraining) {
		return n.Close()
	}
	n.log().Info("draining: nothing new is taken, what is under way is finished")
	n.withdraw()
	return errors.Join(n.drain(ctx), n.Close())
}

// Close implements patterns.Messenger.
func (n *Node) Close() error {
	n.closeOnce.Do(func() {
		n.phase.Store(phaseClosed)
		n.closeErr = n.close()
	})
	return n.closeErr
}

// Serve implements patterns.Messenger.
func (n *Node) Serve(ctx context.Context, name string, h patterns.Handler, limits patterns.Limits) (patterns.Registration, error) {
	if h == nil {
		return nil, errNoHandler
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if err := affords(n.cfg.Workers, limits); err != nil {
		return nil, err
	}
	r, err := n.register(ctx, name, cluster.Registration{}, func(id cluster.MemberID) (*request.Server, error) {
		return n.requests.AddMember(id, name, patterns.ServiceOf(h), limits)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Members implements patterns.Messenger. Without a deadline in ctx it has 5 s.
func (n *Node) Members(ctx context.Context, cluster string) ([]patterns.Member, error) {
	if err := n.reaches(cluster); err != nil {
		return nil, err
	}
	return n.requests.Members(ctx, cluster)
}

// SetSeeds replaces Config.Seeds while the node runs: new ones are dialled at once.
// Links with those that are none any more stay.
func (n *Node) SetSeeds(seeds []string) error {
	if err := n.running(); err != nil {
		return err
	}
	if err := checkSeeds(seeds); n.cfg.Seam == nil && err != nil {
		return err
	}
	n.overlay.SetSeeds(seeds)
	return nil
}

// NameOf is what people call the node of a peer id: any text, to be escaped. "" = it
// has no name, or this node has had no link to it.
func (n *Node) NameOf(id string) string {
	p, err := peer.Decode(id)
	if err != nil {
		return ""
	}
	return n.overlay.NameOf(p)
}

// MembersAfter implements patterns.Messenger. Without a deadline in ctx it has 5 s.
func (n *Node) MembersAfter(ctx context.Context, cluster, version string) ([]patterns.Member, error) {
	if err := n.reaches(cluster); err != nil {
		return nil, err
	}
	return n.requests.MembersAfter(ctx, cluster, version)
}

// Request implements patterns.Messenger. It still works while the node drains.
func (n *Node) Request(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error) {
	if err := n.reaches(cluster); err != nil {
		return patterns.Message{}, err
	}
	return n.requests.Do(ctx, cluster, m, patterns.CollectOptions(opts))
}

// Survey implements patterns.Messenger. It still works while the node drains.
func (n *Node) Survey(ctx context.Context, cluster string, m patterns.Message, each func(patterns.SurveyReply) error, o patterns.SurveyOptions) (patterns.SurveyResult, error) {
	if err := n.reaches(cluster); err != nil {
		return patterns.SurveyResult{}, err
	}
	return n.surveys.Survey(ctx, cluster, m, each, o)
}

// Broadcast implements patterns.Messenger. It still works while the node drains.
func (n *Node) Broadcast(ctx context.Context, cluster string, m patterns.Message) (patterns.BroadcastResult, error) {
	if err := n.reaches(cluster); err != nil {
		return patterns.BroadcastResult{}, err
	}
	return n.broadcasts.Broadcast(ctx, cluster, m)
}

// Push implements patterns.Messenger. It still works while the node drains.
func (n *Node) Push(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) error {
	if err := n.reaches(cluster); err != nil {
		return err
	}
	return n.pushes.Push(ctx, cluster, m, patterns.CollectOptions(opts))
}

// OpenTunnel implements patterns.Messenger. It still works while the node drains.
func (n *Node) OpenTunnel(ctx context.Context, cluster string, first patterns.Message, opts ...patterns.RequestOption) (patterns.Tunnel, error) {
	if err := n.reaches(cluster); err != nil {
		return nil, err
	}
	return n.tunnels.Open(ctx, cluster, first, patterns.CollectOptions(opts))
}

// Publish implements patterns.Messenger.
func (n *Node) Publish(ctx context.Context, topic string, m patterns.Message, opts ...patterns.PublishOption) error {
	if err := n.publishes(topic); err != nil {
		return err
	}
	return n.topics.Publish(ctx, topic, m, patterns.CollectPublishOptions(opts))
}

// TryPublish implements patterns.Messenger.
func (n *Node) TryPublish(topic string, m patterns.Message, opts ...patterns.PublishOption) error {
	if err := n.publishes(topic); err != nil {
		return err
	}
	return n.topics.TryPublish(topic, m, patterns.CollectPublishOptions(opts))
}

// Subscribe implements patterns.Messenger.
func (n *Node) Subscribe(ctx context.Context, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) (patterns.Subscription, error) {
	if err := n.accepting(); err != nil {
		return nil, err
	}
	if s == nil {
		return nil, errNoSubscriber
	}
	return n.topics.Subscribe(ctx, pattern, s, o)
}
