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

// kept is what is left of a session that broke, and of those before it: a
// client whose sessions break before it has subscribed again loses nothing.
type kept struct {
	// Immutable.
	origin uint64

	sessions int // that find it; guarded by Relay.mu

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

// add takes feeds that were subscribed later, and returns those of before whose
// ids they have.
func (k *kept) add(feeds []*feed) (old []*feed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range feeds {
		if o := k.feeds[d.id]; o != nil {
			old = append(old, o)
		}
		k.feeds[d.id] = d
	}
	return old
}

// empty says that nobody can claim anything; nil is empty, too.
func (k *kept) empty() bool {
	if k == nil {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.feeds) == 0
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
	var feeds []*feed
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
		feeds = append(feeds, d)
	}
	closeAll(r.ctx, sources)
	if len(feeds) == 0 && c.topics.before.empty() {
		return
	}
	k, old := r.remember(c, feeds)
	r.release(old)
	if k == nil {
		r.count.drop(dropSession)
		r.release(feeds)
		return
	}
	c.log.Debug("subscriptions of a broken session are kept", zap.Int("subscriptions", len(feeds)))
	r.wg.Go(func() {
		timer := time.NewTimer(keepTime)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.draining.Done():
		}
		if r.forget(c.id, k) {
			r.release(k.rest())
		}
	})
}

// remember has the session's successor find the feeds, and what the session
// itself has not claimed; nil if there are too many sessions. Feeds that nobody
// can claim any more are returned.
func (r *Relay) remember(c *client, feeds []*feed) (k *kept, old []*feed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != stateRunning || len(r.kept) >= r.cfg.Limits.Clients {
		return nil, nil
	}
	k = c.topics.before
	if k == nil || k.sessions == 0 {
		k = &kept{origin: c.origin, feeds: map[uint64]*feed{}}
	}
	k.sessions++
	r.kept[c.id] = k
	return k, k.add(feeds)
}

// forget has a session's successor find nothing any more, and says whether that
// was the last one to find k.
func (r *Relay) forget(id session.ID, k *kept) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kept, id)
	k.sessions--
	return k.sessions == 0
}

// release ends what nobody claims.
func (r *Relay) release(feeds []*feed) {
	var sources []patterns.Subscription
	for _, d := range feeds {
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
