// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// registering runs f with an engine that registers there, in virtual time.
func registering(t *testing.T, f func(t *testing.T, l *lone, r *registrations)) {
	t.Helper()
	alone(t, func(t *testing.T, l *lone) {
		r := &registrations{}
		l.base.Cfg.Directory = r
		f(t, l, r)
	})
}

// registrations is a directory that writes down who registers, and shows one view.
type registrations struct {
	nobody
	mu    sync.Mutex
	names []string // registered, of clusters
	last  []wire.Interest
	view  cluster.View
	shown *cluster.View // view, as it is shown; nil = not yet
	fails int           // registrations that are refused still
	takes time.Duration
}

func (r *registrations) Watch(string) env.Watch { return shownView{r} }

func (r *registrations) Register(_ context.Context, name string, c cluster.Registration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if takes := r.takes; takes > 0 {
		r.mu.Unlock()
		time.Sleep(takes)
		r.mu.Lock()
	}
	if r.fails--; r.fails >= 0 {
		return cluster.ErrRefused
	}
	r.last, _, _ = wire.DecodeInterests(c.Payload)
	r.names = append(r.names, name)
	return nil
}

func (r *registrations) show(v cluster.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.view, r.shown = v, nil
}

func (r *registrations) forwards() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.names, env.ClusterOf(env.RootForwards))
}

func (r *registrations) refuse(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = n
}

func (r *registrations) slow(takes time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takes = takes
}

func (r *registrations) registered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.names)
}

func (r *registrations) told() []wire.Interest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

type shownView struct{ *registrations }

func (shownView) Release() {}

func (s shownView) View() *cluster.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == nil {
		v := s.view
		s.shown = &v
	}
	return s.shown
}

func (s shownView) Next(ctx context.Context, _ *cluster.View) (*cluster.View, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s shownView) Wait(context.Context, bool) (*cluster.View, error) {
	if v := s.View(); v.Known {
		return v, nil
	}
	return nil, cluster.ErrUnreachable
}
