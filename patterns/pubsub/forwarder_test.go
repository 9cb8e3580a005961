// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// roster is a directory that writes down who registers, and shows one view.
type roster struct {
	nobody
	mu    sync.Mutex
	names []string // registered, of clusters
	view  cluster.View
}

func (r *roster) Watch(string) Watch { return sight{r} }

func (r *roster) Register(_ context.Context, name string, _ cluster.Registration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
	return nil
}

func (r *roster) show(v cluster.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.view = v
}

func (r *roster) forwards() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.names, clusterOf(rootForwards))
}

type sight struct{ *roster }

func (sight) Release() {}

func (s sight) View() *cluster.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view
	return &v
}

func (s sight) Wait(context.Context, bool) (*cluster.View, error) {
	if v := s.View(); v.Known {
		return v, nil
	}
	return nil, cluster.ErrUnreachable
}

func TestWhoDoesNotKnowTheRootGroupIsNotItsForwarder(t *testing.T) {
	// This test has a node listen to everything while it can't know who else
	// does: what publishers gave it would reach nobody. It becomes a forwarder
	// when it knows, even if no worker was free for a while.
	synctest.Test(t, func(t *testing.T) {
		l := newLone(t)
		r := &roster{}
		l.cfg.Directory = r
		exec := &occupied{Exec: l.cfg.Exec}
		l.cfg.Exec = exec
		_, err := l.Engine.Subscribe(t.Context(), ">", make(catcher, 10), patterns.SubscribeOptions{})
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.False(t, r.forwards())
		exec.set(true)
		time.Sleep(10 * time.Second)
		exec.set(false)
		r.show(cluster.View{Known: true, Complete: true})
		time.Sleep(2 * rosterTime)
		require.True(t, r.forwards())
		require.NoError(t, l.Close())
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
