// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Clusters is the membership of one node: what it serves, what it watches and
// what it anchors for others. All methods may be called concurrently.
type Clusters struct {
	// Immutable after New.
	cfg     Config
	seam    overlay.Seam
	start   time.Time
	random  overlay.RandStream // of picks
	inbox   *inbox
	loop    *loop
	lookups *lookups

	status atomic.Pointer[Status]
	rings  atomic.Int64 // cluster ids whose neighbourhood is followed

	mu      sync.Mutex // guards what follows; never held across anything that blocks
	entries map[string]*entry
	pending map[pendingKey]chan error // Register calls that wait
	waits   uint64                    // numbers Wait calls
	table   overlay.Timer             // a change of the routing table waits for others

	// Lifecycle.
	wg        sync.WaitGroup
	startOnce sync.Once
	closeOnce sync.Once
	quit      chan struct{}
}

type pendingKey struct {
	name   string
	member MemberID
}

// New checks cfg and registers with the overlay; nothing runs yet.
func New(cfg Config) (*Clusters, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	seam := cfg.Overlay.Seam()
	c := &Clusters{
		cfg: cfg, seam: seam, start: seam.Clock.Now(), random: seam.Rand.Stream("cluster.pick"),
		entries: make(map[string]*entry), pending: make(map[pendingKey]chan error), quit: make(chan struct{}),
	}
	c.status.Store(&Status{})
	var seed [8]byte
	records := seam.Rand.Stream("cluster.records")
	_, _ = seam.Rand.Stream("cluster.jitter").Read(seed[:]) // never fails
	c.loop = &loop{
		c: c, log: cfg.Logger.Named("cluster"), holds: make(map[peer.ID]func()), ring: make(chan struct{}, 1),
		control: newControl(c.start, controlConfig{
			self: cfg.Overlay.Self(), incarnation: cfg.Incarnation, zone: cfg.Zone,
			addrs: cfg.Overlay.Addrs, nearest: cfg.Overlay.Nearest, keys: cfg.Keys,
			rand: records, seed: binary.LittleEndian.Uint64(seed[:]),
		}),
	}
	c.inbox = newInbox(c.loop.wake)
	c.lookups = newLookups(seam, cfg.Overlay.Closest, func(cid security.ClusterID, peers []peer.ID) {
		c.inbox.put(lookedUpEvent{cid, peers})
	})
	c.loop.listen(cfg.Overlay)
	return c, nil
}

// Start begins to work. Call it once, before the overlay is started, so that
// no frame waits.
func (c *Clusters) Start() error {
	c.startOnce.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		for i := range lookupWorkers {
			c.wg.Go(func() { c.lookups.run(ctx, i) })
		}
		c.wg.Go(func() {
			defer cancel()
			c.loop.run(c.quit)
		})
	})
	return nil
}

// Close ends everything at once and waits. It is idempotent. Leases end with
// the links; call Unregister first to leave in order.
func (c *Clusters) Close() error {
	c.closeOnce.Do(func() {
		c.inbox.close()
		c.mu.Lock()
		if c.table != nil {
			c.table.Stop()
		}
		c.mu.Unlock()
		close(c.quit) // wakes whoever waits for a view or a registration, too
	})
	c.wg.Wait()
	return nil
}

// tableChanged passes on that the routing table changed, a little later: other
// changes may follow.
func (c *Clusters) tableChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.table != nil {
		return
	}
	delay := tableDelay + time.Duration(c.rings.Load())*tableDelayEach
	c.table = c.seam.Clock.AfterFunc("cluster.table", delay, func() {
		c.mu.Lock()
		c.table = nil
		c.mu.Unlock()
		c.inbox.put(tableEvent{})
	})
}

// now is the time of the health cores.
func (c *Clusters) now() int64 { return int64(c.seam.Clock.Now().Sub(c.start)) + 1 }

// Pick chooses one member of v, or nil if none is usable. It neither blocks
// nor allocates. The caller calls Begin on the member and Done afterwards.
// Members out of rotation are chosen only if nobody else is left, and
// unreachable ones only while nobody is excluded.
func (c *Clusters) Pick(v *View, p PickRequest) *Member {
	if v == nil || len(v.Members) == 0 {
		return nil
	}
	return pick(v, p, c.now(), c.random.Uint64())
}

// Done tells how a request that began with m.Begin ended.
func (c *Clusters) Done(m *Member, r Result) {
	now := c.now()
	m.load.inflight.Add(-1)
	m.load.observe(now, r)
	m.load.pool.refresh(now)
}
