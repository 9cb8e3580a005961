// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/gateway"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
)

func TestAGatewayThatEndsUnderLoadLosesNoPublicationSilently(t *testing.T) {
	// This test has four publishers on real links, about 2,000 messages a second together,
	// and ends one of two gateways at once: who listens in the
	// other network has each message once and in order, or is told that it is missing.
	eu, us := newCloud(t, "eu"), newCloud(t, "us")
	lend := func() *gateway.Gateway {
		topics := []gateway.TopicCrossing{quotes(gateway.TopicLimits{})}
		return started(t, gateway.Config{Networks: networksOf(eu, us), Topics: topics})
	}
	gs := []*gateway.Gateway{lend(), lend()}
	ears := []*listener{listen(t, us.node(), "quotes.>", patterns.SubscribeOptions{}), listen(t, us.node(), ">", patterns.SubscribeOptions{})}
	publishers := []*node.Node{eu.node(), eu.node(), eu.node(), eu.node()}
	const sent = 1000
	for i, p := range publishers { // until all know who listens
		require.Eventually(t, func() bool {
			if p.Publish(context.Background(), "quotes.x", number(0)) != nil {
				return false // it does not know yet whom to ask
			}
			time.Sleep(20 * time.Millisecond)
			for _, e := range ears {
				if len(e.heard(p.Self().String()+"@eu")) == 0 {
					return false
				}
			}
			return gs[0].Status().Topics[0].Lent && gs[1].Status().Topics[0].Lent
		}, patience, 20*time.Millisecond, "publisher %d", i)
	}
	time.Sleep(time.Second)
	for _, e := range ears {
		e.forget()
	}
	var wg sync.WaitGroup
	for _, p := range publishers {
		wg.Go(func() {
			for i := range sent {
				if err := p.Publish(context.Background(), "quotes.x", number(1+i)); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	time.Sleep(500 * time.Millisecond)
	busier := gs[0]
	if carriedBy(gs[1], "eu") > carriedBy(busier, "eu") {
		busier = gs[1]
	}
	require.NoError(t, busier.Close())
	wg.Wait()
	for i, e := range ears {
		require.Eventually(t, func() bool { return e.count()+int(e.isMissing()) >= sent*len(publishers) }, patience, 50*time.Millisecond)
		time.Sleep(time.Second)
		e.hasAll(t, sent*len(publishers), []string{"quotes.>", ">"}[i])
	}
}

// heard is what has come of a publisher.
func (l *listener) heard(who string) []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.got[who]
}

func (l *listener) isMissing() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missed
}

// forget begins anew.
func (l *listener) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got, l.missed, l.gaps, l.wrong, l.unknown = map[string][]uint64{}, 0, nil, nil, 0
}
