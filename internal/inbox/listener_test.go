// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// listener is a Subscriber that writes down what it gets, after a while.
type listener struct {
	pause  time.Duration
	before func(p patterns.Publication)

	mu     sync.Mutex
	heard  []string
	got    uint64
	missed uint64
	inside int
}

func (l *listener) ServePublication(p patterns.Publication) {
	l.enter()
	defer l.leave()
	if l.before != nil {
		l.before(p)
	}
	time.Sleep(l.pause)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, string(p.Body))
	l.got++
}

func (l *listener) ServeGap(g patterns.Gap) {
	l.enter()
	defer l.leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, fmt.Sprintf("-%d", g.Missed))
	l.missed += g.Missed
}

func (l *listener) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside++; l.inside > 1 {
		panic("called twice at once")
	}
}

func (l *listener) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside--
}

func (l *listener) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.heard, " ")
}

// fixture is a set on workers of its own.
type fixture struct {
	t       testing.TB
	workers *overlay.Workers
	set     *inbox.Set
	keys    uint64
	boxes   []*inbox.Inbox
}

func newFixture(t testing.TB, workers int, log *zap.Logger) *fixture {
	f := &fixture{t: t, workers: overlay.NewWorkers(workers)}
	var err error
	f.set, err = inbox.NewSet(inbox.SetConfig{Exec: f.workers, Clock: overlay.NewRealClock(), Logger: log})
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, b := range f.boxes {
			_ = b.Close(context.Background())
		}
		f.set.Close()
		require.NoError(t, f.workers.Close())
	})
	return f
}

func (f *fixture) box(s patterns.Subscriber, o patterns.SubscribeOptions) *inbox.Inbox {
	f.keys++
	b, err := f.set.New(inbox.Config{Subscriber: s, Options: o, Key: f.keys})
	require.NoError(f.t, err)
	f.boxes = append(f.boxes, b)
	return b
}

func message(i int) *patterns.Publication {
	return &patterns.Publication{From: "p", Body: []byte(fmt.Sprint(i))}
}
