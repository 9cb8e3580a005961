// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

func TestWhoDoesNotKnowTheRootGroupIsNotItsForwarder(t *testing.T) {
	// This test has a node listen to everything while it can't know who else
	// does: what publishers gave it would reach nobody. It becomes a forwarder
	// when it knows, even if no worker was free for a while.
	registering(t, func(t *testing.T, l *lone, r *registrations) {
		exec := &occupied{Exec: l.base.Cfg.Exec}
		l.base.Cfg.Exec = exec
		_, err := l.Engine.Subscribe(t.Context(), ">", make(catcher, 10), patterns.SubscribeOptions{})
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.False(t, r.forwards())
		exec.set(true)
		time.Sleep(10 * time.Second)
		exec.set(false)
		r.show(cluster.View{Known: true, Complete: true})
		time.Sleep(2 * env.CandidateTime)
		require.True(t, r.forwards())
	})
}

// occupied is an Exec that has no worker free for a while.
type occupied struct {
	overlay.Exec
	mu   sync.Mutex
	busy bool
}

func (o *occupied) set(busy bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = busy
}

func (o *occupied) Go(k overlay.ExecKey, f func()) bool {
	o.mu.Lock()
	busy := o.busy
	o.mu.Unlock()
	return !busy && o.Exec.Go(k, f)
}
