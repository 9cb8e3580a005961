// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package node is one participant of the network.
package node

import (
	"context"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/patterns"
)

// Node is one participant of the network.
type Node struct{ cfg Config }

var _ patterns.Messenger = (*Node)(nil)

// New checks cfg; it starts nothing.
func New(cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Node{cfg: cfg}, nil
}

// Start begins to listen and to look for the network. ctx bounds only Start.
func (n *Node) Start(ctx context.Context) error { return patterns.ErrClosed }

// Self is the node's peer id.
func (n *Node) Self() peer.ID { return "" }

// Serve implements patterns.Messenger.
func (n *Node) Serve(ctx context.Context, cluster string, h patterns.Handler, limits patterns.Limits) (patterns.Registration, error) {
	return nil, patterns.ErrClosed
}

// Request implements patterns.Messenger.
func (n *Node) Request(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error) {
	return patterns.Message{}, patterns.ErrClosed
}

// Members implements patterns.Messenger.
func (n *Node) Members(ctx context.Context, cluster string) ([]patterns.Member, error) {
	return nil, patterns.ErrClosed
}

// Status describes the node.
func (n *Node) Status() Status { return Status{} }

// Shutdown implements patterns.Messenger.
func (n *Node) Shutdown(ctx context.Context) error { return nil }

// Close implements patterns.Messenger.
func (n *Node) Close() error { return nil }
