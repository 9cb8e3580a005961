// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

const (
	// keepTime is how long the subscriptions of a session that broke go on
	// counting what their client misses.
	keepTime = 10 * time.Second
	// closeTime bounds how long the node may take to end one of them.
	closeTime = 2 * time.Second
	// closers is how many are ended at once.
	closers = 64
)

// kept is what is left of a session that broke.
type kept struct {
	// Immutable.
	origin uint64

	// Guarded by mu.
	mu    sync.Mutex
	feeds map[uint64]*feed
}

// inherit gives the client its place among those there were, and what is left
// of its session before. The caller holds mu.
func (r *Relay) inherit(c *client, resume session.ID) {
	r.origins++
	c.origin = r.origins
	if k := r.kept[resume]; k != nil {
		c.topics.before = k
		c.origin = k.origin
	}
	c.out = newPublisher(c, c.origin)
}

// claim returns the feed that f goes on with; nil if there is none.
func (k *kept) claim(f *session.Subscribe) *feed {
	if k == nil || !f.Resumed {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.feeds[f.ID]
	if d == nil || d.pattern != f.Pattern || d.options.Queue != f.Queue || d.options.NoEcho != f.NoEcho {
		return nil
	}
	delete(k.feeds, f.ID)
	return d
}

// rest returns the feeds that nobody has claimed, and leaves none.
func (k *kept) rest() []*feed {
	k.mu.Lock()
	defer k.mu.Unlock()
	feeds := slices.Collect(maps.Values(k.feeds))
	k.feeds = nil
	return feeds
}

// keep takes the subscriptions of a session that is over. Those that share a
// queue end at once, because what they would get is lost to the others.
func (r *Relay) keep(c *client, all []*subscription) {
	k := &kept{origin: c.origin, feeds: map[uint64]*feed{}}
	var sources []patterns.Subscription
	for _, s := range all {
		d := s.feed
		if d.source == nil { // never acknowledged
			continue
		}
		if c.topics.leaves(s) {
			d.end()
			sources = append(sources, d.source)
			continue
		}
		d.leave()
		if d.options.Queue != "" {
			sources = append(sources, d.source)
			d.source = nil
		}
		k.feeds[d.id] = d
	}
	closeAll(r.ctx, sources)
	if len(k.feeds) == 0 {
		return
	}
	if !r.remember(c.id, k) {
		r.count.drop(dropSession)
		r.release(k)
		return
	}
	c.log.Debug("subscriptions of a broken session are kept", zap.Int("subscriptions", len(k.feeds)))
	r.wg.Go(func() {
		timer := time.NewTimer(keepTime)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.draining.Done():
		}
		r.mu.Lock()
		delete(r.kept, c.id)
		r.mu.Unlock()
		r.release(k)
	})
}

// remember has the session's successor find k, unless there are too many.
func (r *Relay) remember(id session.ID, k *kept) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != stateRunning || len(r.kept) >= r.cfg.Limits.Clients {
		return false
	}
	r.kept[id] = k
	return true
}

// release ends what nobody has claimed.
func (r *Relay) release(k *kept) {
	var sources []patterns.Subscription
	for _, d := range k.rest() {
		d.end()
		if d.source != nil {
			sources = append(sources, d.source)
		}
	}
	closeAll(r.ctx, sources)
}

// closeAll ends subscriptions at the node, some at a time.
func closeAll(ctx context.Context, sources []patterns.Subscription) {
	var wg sync.WaitGroup
	for share := range slices.Chunk(sources, (len(sources)+closers)/closers) {
		wg.Go(func() {
			for _, s := range share {
				ending, cancel := context.WithTimeout(ctx, closeTime)
				s.Close(ending) // what it still has is counted as missed
				cancel()
			}
		})
	}
	wg.Wait()
}
