// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// Times of waiting for a view.
const (
	unknownTime  = 2 * time.Second        // so long Wait puts up with not knowing …
	unknownTrips = 8                      // … or for so many round trips, and longer while something is under way
	lookTime     = 100 * time.Millisecond // between two looks whether that is so
	lastWord     = 100 * time.Millisecond // so long before its deadline a caller hears why nobody is known
)

// Watch is one interest in a cluster. All methods may be called concurrently.
type Watch struct {
	c        *Clusters
	entry    *entry
	released atomic.Bool
}

// Watch returns an interest in the cluster. It is counted: the first one asks
// the anchors, and they are asked to stop 30 s after the last Release.
func (c *Clusters) Watch(name string) *Watch {
	c.mu.Lock()
	e := c.entries[name]
	fresh := e == nil
	if fresh {
		e = newEntry(name, c.cfg.Doubt, c.cfg.Overlay.Behind)
		c.entries[name] = e
	}
	e.users++
	if fresh {
		// Under mu, so that nobody's later event overtakes it.
		c.inbox.put(watchEvent{name, e.pool})
	}
	c.mu.Unlock()
	return &Watch{c: c, entry: e}
}

// View is what is known now; never nil.
func (w *Watch) View() *View { return w.entry.view.Load() }

// Release ends the interest. It is idempotent.
func (w *Watch) Release() {
	if !w.released.CompareAndSwap(false, true) {
		return
	}
	c, e := w.c, w.entry
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.users--; e.users > 0 {
		return
	}
	e.released = c.seam.Clock.Now()
	if !e.idling { // else the loop comes and looks anyway
		e.idling = true
		c.inbox.put(idleEvent{e.name, e.released.Add(lingerTime)})
	}
}

// expire is called by the control loop when a watch may have lingered for long
// enough: it is forgotten, or looked at again later.
func (c *Clusters) expire(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if e == nil {
		return
	}
	switch until := e.released.Add(lingerTime); {
	case e.users > 0:
		e.idling = false
	case c.seam.Clock.Now().Before(until):
		c.inbox.put(idleEvent{name, until})
	default:
		delete(c.entries, name)
		c.inbox.put(forgetEvent{name})
	}
}

// publish shows callers a new view.
func (c *Clusters) publish(name string, v *View) {
	c.mu.Lock()
	e := c.entries[name]
	c.mu.Unlock()
	if e != nil && e.pool == v.pool {
		e.publish(v, c.seam.Exec)
	}
}

// Wait returns a view that has members. Otherwise it returns ErrNoMembers as
// soon as the cluster is known to be empty, ErrUnreachable after 2 s or eight round trips
// of not knowing, ErrClosed, or ctx's error. While a dial, a question or settling is under
// way it waits longer, until shortly before ctx's deadline, if there is one. If anchors say
// "empty" and Config.Doubt has something against it, it waits only while that may pass.
// With needMember it waits for a first member instead, for as long as ctx lets it.
func (w *Watch) Wait(ctx context.Context, needMember bool) (*View, error) {
	if needMember {
		return w.await(ctx, nil, func(v *View) bool { return len(v.Members) > 0 })
	}
	if v := w.View(); v.answers() {
		return v, v.verdict()
	}
	c := w.c
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	c.loop.wake() // so that it is known what is under way
	began := c.seam.Clock.Now()
	trip, _ := c.cfg.Overlay.LongestTrip()
	patience := began.Add(overlay.Patience{Time: unknownTime, Trips: unknownTrips}.Over(trip))
	deadline, limited := ctx.Deadline()
	for {
		look := make(chan struct{})
		t := c.seam.Clock.AfterFunc("cluster.wait", lookTime, func() { close(look) })
		v, err := w.await(ctx, look, (*View).answers)
		t.Stop()
		if err == nil {
			return v, v.verdict()
		}
		if err != ErrUnreachable {
			return nil, err
		}
		now := c.seam.Clock.Now()
		waits := limited && now.Before(deadline.Add(-lastWord)) && w.View().stirs()
		if !now.Before(patience) && !waits {
			return nil, w.View().unknown()
		}
	}
}

// Next returns the view as soon as it is another one than old, or ctx's error.
func (w *Watch) Next(ctx context.Context, old *View) (*View, error) {
	if v := w.View(); v != old {
		return v, nil
	}
	return w.await(ctx, nil, func(v *View) bool { return v != old })
}

// await returns the first view that will do, ErrUnreachable once late is closed,
// ErrClosed, or ctx's error.
func (w *Watch) await(ctx context.Context, late <-chan struct{}, will func(*View) bool) (*View, error) {
	c := w.c
	c.mu.Lock()
	c.waits++
	me := &waiter{id: c.waits, wake: make(chan struct{}, 1)}
	c.mu.Unlock()
	w.entry.addWaiter(me)
	defer w.entry.removeWaiter(me)
	for {
		if v := w.View(); will(v) {
			return v, nil
		}
		select {
		case <-me.wake:
		case <-late:
			return nil, ErrUnreachable
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.quit:
			return nil, ErrClosed
		}
	}
}

// answers says whether Wait is over.
func (v *View) answers() bool {
	if len(v.Members) > 0 {
		return true
	}
	_, soon := v.doubts()
	return v.Empty && !soon
}

func (v *View) verdict() error {
	if len(v.Members) == 0 {
		return v.Nobody()
	}
	return nil
}

// doubts says why this node can't tell whether there are more members than the view has,
// nil = it can, and whether it may be able to at any moment: see Config.Doubt. What anchors
// told before this process stood still is worth nothing until they answer again.
func (v *View) doubts() (reason error, soon bool) {
	if v.pool == nil {
		return nil, false
	}
	if v.pool.doubt != nil {
		if reason, soon = v.pool.doubt(); reason != nil {
			return reason, soon
		}
	}
	if anchors := v.pool.anchors.Load(); anchors != nil && v.pool.behind != nil && slices.ContainsFunc(*anchors, v.pool.behind) {
		return errBehind, true
	}
	return nil, false
}

// Nobody returns ErrNoMembers if the cluster is known to have no member; an
// ErrUnreachable that says why if anchors say so, and this node can't believe them; nil
// otherwise.
func (v *View) Nobody() error {
	if !v.Known || !v.Empty {
		return nil
	}
	if reason, _ := v.doubts(); reason != nil {
		return &doubtError{reason}
	}
	return ErrNoMembers
}

// Believed reports whether the view has members, or is empty and this node can believe
// that now. The answer changes with the node's doubts, so do not keep it.
func (v *View) Believed() bool {
	if len(v.Members) > 0 || !v.Known {
		return v.Known
	}
	reason, _ := v.doubts()
	return reason == nil
}

// Whole says that the anchors have told of everybody, and that this node can believe them.
func (v *View) Whole() bool {
	reason, _ := v.doubts()
	return v.Complete && reason == nil
}

// Final says that waiting would not make the view Whole.
func (v *View) Final() bool {
	_, soon := v.doubts()
	return v.Complete && !soon
}

// stirs says whether something is under way by which members may become known.
func (v *View) stirs() bool {
	_, soon := v.doubts()
	return soon || v.pool != nil && v.pool.stirs.Load()
}

// unknown is the outcome if it stays unknown whether there are members.
func (v *View) unknown() error {
	if reason, _ := v.doubts(); reason != nil {
		return &doubtError{reason}
	}
	return ErrUnreachable
}

// entry is one watched cluster as callers see it.
type entry struct {
	// Immutable.
	name string
	pool *pool

	view atomic.Pointer[View]

	// Guarded by Clusters.mu.
	users    int
	released time.Time // when users became 0
	idling   bool      // the control loop knows, and will ask when the time has come

	mu      sync.Mutex // guards what follows
	waiters []*waiter
}

// waiter is one blocked Watch.Wait.
type waiter struct {
	id   uint64
	wake chan struct{} // has room for one
}

func newEntry(name string, doubt func() (error, bool), behind func(peer.ID) bool) *entry {
	e := &entry{name: name, pool: newPool()}
	e.pool.doubt, e.pool.behind = doubt, behind
	e.view.Store(&View{pool: e.pool})
	return e
}

func (e *entry) addWaiter(w *waiter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiters = append(e.waiters, w)
}

func (e *entry) removeWaiter(w *waiter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, o := range e.waiters {
		if o == w {
			e.waiters = append(e.waiters[:i:i], e.waiters[i+1:]...)
			return
		}
	}
}

// publish shows v and wakes all who wait, in the order they came.
func (e *entry) publish(v *View, exec overlay.Exec) {
	e.view.Store(v)
	e.mu.Lock()
	waiters := e.waiters // removeWaiter and addWaiter leave these elements alone
	e.mu.Unlock()
	for _, w := range waiters {
		exec.Wake(overlay.ExecKey{Name: "cluster.wait", N: w.id}, w.signal)
	}
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
