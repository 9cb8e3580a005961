// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/drop"
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
	drops   drop.Counts[dropReason]

	status atomic.Pointer[Status]
	sets   atomic.Int64 // cluster ids whose neighbourhood is followed

	waiting atomic.Int64 // calls of Wait that may need to know what is under way

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
		drops: drop.New(dropReasons),
	}
	c.status.Store(&Status{})
	var seed [8]byte
	records := seam.Rand.Stream("cluster.records")
	_, _ = seam.Rand.Stream("cluster.jitter").Read(seed[:]) // never fails
	c.loop = &loop{
		c: c, log: cfg.Logger.Named("cluster"), holds: make(map[peer.ID]func()), needs: make(map[peer.ID]func()), ring: make(chan struct{}, 1),
		control: newControl(c.start, controlConfig{
			key: seam.Key, network: cfg.Network, incarnation: cfg.Incarnation, zone: cfg.Zone, home: cfg.Home, certificates: cfg.Certificates,
			addrs: cfg.Overlay.Addrs, nearest: cfg.Overlay.Nearest, trip: cfg.Overlay.LongestTrip, keys: cfg.Keys, walls: cfg.Walls,
			ephemeral: cfg.Ephemeral, rand: records, seed: binary.LittleEndian.Uint64(seed[:]), drops: c.drops,
		}),
	}
	c.inbox = newInbox(c.drops, c.loop.wake)
	c.lookups = newLookups(seam, cfg.Overlay.Closest, cfg.Overlay.LongestTrip, func(cid security.ClusterID, peers []peer.ID) {
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
	delay := tableDelay + time.Duration(c.sets.Load())*tableDelayEach
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

// Registration describes one local member.
type Registration struct {
	Member     MemberID // random, new for each registration
	Capacity   int      // relative weight; 0 = 1
	MaxMessage int      // bytes of headers and body it accepts
	// Network is where a gateway lends the member from, at most MaxNetwork bytes.
	// Empty = the member is one of this network, and preferred.
	Network string
	// Networks are the ids of those that the lent member has come through, its own
	// first, at most MaxNetworks.
	Networks []security.NetworkID
	// Priority orders lent members: the lowest first, at most MaxPriority.
	Priority int
	// Passed, if not nil, is the own lease of a member that is lent, for each id of the
	// cluster that it has one under: callers reach it by this node, which need not be
	// able to open what they send. Nobody changes it afterwards.
	Passed map[security.ClusterID]Passed
	// Payload is for the members and callers of the cluster: it is sealed in
	// the lease, and they find it as Member.Payload. At most MaxPayload bytes,
	// which must not be changed afterwards.
	Payload []byte
}

// Register makes r a member of the cluster and returns when a majority of the
// anchors that can be reached, at least one, have acknowledged it. If ctx ends
// before, the member is withdrawn. Errors: ErrName, ErrPayload, ErrDuplicate, ErrNoKeys,
// ErrRefused, ErrUnregistered, ErrClosed, and ctx's.
func (c *Clusters) Register(ctx context.Context, name string, r Registration) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if len(r.Payload) > MaxPayload {
		return ErrPayload
	}
	if len(r.Network) > MaxNetwork {
		return fmt.Errorf("%w: that of a network has at most %d bytes", ErrName, MaxNetwork)
	}
	if len(r.Networks) > MaxNetworks {
		return fmt.Errorf("%w: a member can have come through %d networks", ErrName, MaxNetworks)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	key := pendingKey{name, r.Member}
	done := make(chan error, 1)
	c.mu.Lock()
	if c.pending[key] != nil {
		c.mu.Unlock()
		return ErrDuplicate
	}
	c.pending[key] = done
	c.mu.Unlock()
	if !c.inbox.put(registerEvent{name, r}) {
		return ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-c.quit:
		return ErrClosed
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.pending, key)
		c.mu.Unlock()
		c.Unregister(name, r.Member)
		return ctx.Err()
	}
}

// registered ends the Register call that waits for a.
func (c *Clusters) registered(a registeredAction) {
	key := pendingKey{a.name, a.member}
	c.mu.Lock()
	done := c.pending[key]
	delete(c.pending, key)
	c.mu.Unlock()
	if done != nil {
		c.seam.Exec.Wake(overlay.ExecKey{Name: "cluster.register", N: uint64(a.member)}, func() { done <- a.err })
	}
}

// Unregister withdraws a member at once. Requests under way reach it still.
func (c *Clusters) Unregister(name string, m MemberID) { c.inbox.put(unregisterEvent{name, m}) }

// Revise has anchors and callers know that the member r.Member of this node has that
// Capacity now, accepts messages of MaxMessage bytes and has come through those Networks;
// it does not look at the rest. It does not wait; a member that there is not stays so.
func (c *Clusters) Revise(name string, r Registration) { c.inbox.put(reviseEvent{name, r}) }

// Pass has a member that is lent have those leases from now on. It does not wait; a
// member that there is not stays so.
func (c *Clusters) Pass(name string, m MemberID, passed map[security.ClusterID]Passed) {
	c.inbox.put(passEvent{name, m, passed})
}

// KeysChanged notes that other keys count than before for some clusters, or other wall
// clocks: members register, and callers watch, under the ids that are valid now.
func (c *Clusters) KeysChanged() { c.inbox.put(keysEvent{}) }

// Doubt says whether callers should rather ask others than this member: it lives
// elsewhere than on this node, which has not heard of it for a while. One that is
// not registered is no error.
func (c *Clusters) Doubt(name string, m MemberID, on bool) { c.inbox.put(doubtEvent{name, m, on}) }

// Review has Config.Certificates decide anew about all members, and the records of
// this node's own carry what it says now. It does not wait for that.
func (c *Clusters) Review() { c.inbox.put(reviewEvent{}) }

// Rekeyed has the records of this node's members carry what Config.Ephemeral returns
// now. It does not wait for that.
func (c *Clusters) Rekeyed() { c.inbox.put(rekeyEvent{}) }
