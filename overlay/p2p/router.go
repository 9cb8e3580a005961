// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	dht "github.com/libp2p/go-libp2p-kad-dht"
	pb "github.com/libp2p/go-libp2p-kad-dht/pb"
	kb "github.com/libp2p/go-libp2p-kbucket"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

const (
	// bucketSize is how many peers the table holds per distance; up to so
	// many others everybody knows everybody.
	bucketSize = 16
	// refreshEvery is how often buckets are refreshed, in the quiet.
	refreshEvery = time.Minute
	// refreshTimeout bounds one lookup of a refresh.
	refreshTimeout = 2 * time.Second
	// lookupTimeout bounds Closest when its context does not.
	lookupTimeout = 500 * time.Millisecond
)

// router implements overlay.Router with kad-dht's routing table and messages.
// It stores nothing in the DHT.
type router struct {
	self     peer.ID
	log      *zap.Logger
	counters *counters

	// onChange is complete before start.
	onChange []func()

	// running is nil before start and after close.
	running atomic.Pointer[routing]
}

// routing is a router that runs.
type routing struct {
	router    *router
	host      host.Host
	dht       *dht.IpfsDHT
	table     *kb.RoutingTable
	messenger *pb.ProtocolMessenger

	changed chan struct{} // of capacity 1: the table has changed
	met     chan peer.ID  // peers that a connection was made with
	lost    chan struct{} // of capacity 1: a peer has left the table

	// Lifecycle. wg counts goroutines and callers; mu guards closing, after
	// which nobody may enter.
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex
	closing bool
}

var _ overlay.Router = (*router)(nil)

// start makes h part of the DHT of the network. Nothing may be connected or
// listening yet: the handlers must be there first, and so must the hooks,
// which kad-dht calls without a lock of ours.
func (r *router) start(h host.Host, id security.NetworkID) error {
	prefix := protocol.ID("/arke/" + id.String())
	d, err := dht.New(questioner{h},
		// Networks never mix, even if somebody copies addresses.
		dht.ProtocolPrefix(prefix),
		// A client: it is the answerer that answers. Pitfall "dual DHT": two
		// tables, of which it writes to one; this is a single one, without
		// filters, so private addresses are fine.
		dht.Mode(dht.ModeClient),
		dht.DisableProviders(),
		dht.DisableValues(),
		dht.BucketSize(bucketSize),
		dht.Concurrency(lookupParallel),
		dht.Resiliency(lookupAgree),
		dht.RoutingTableRefreshPeriod(refreshEvery),
		dht.RoutingTableRefreshQueryTimeout(refreshTimeout),
	)
	if err != nil {
		return err
	}
	messenger, err := pb.NewProtocolMessenger(d.MessageSender())
	if err != nil {
		_ = d.Close()
		return err
	}
	x := &routing{
		router: r, host: h, dht: d, table: d.RoutingTable(), messenger: messenger,
		changed: make(chan struct{}, 1),
		met:     make(chan peer.ID, maxMet),
		lost:    make(chan struct{}, 1),
	}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	added, removed := x.table.PeerAdded, x.table.PeerRemoved
	x.table.PeerAdded = func(p peer.ID) { added(p); signal(x.changed) }
	x.table.PeerRemoved = func(p peer.ID) { removed(p); signal(x.changed); signal(x.lost) }
	r.running.Store(x)
	// Pitfall "ModeAuto": a peer that answers nobody is in no table. It is known to
	// answer by this handler.
	h.SetStreamHandler(prefix+answerProtocol, newAnswerer(x, r.counters).serve)
	x.wg.Go(x.watch)
	x.wg.Go(x.meet)
	return nil
}

// close leaves the DHT and waits. The host must still be there.
func (r *router) close() { r.end()() }

// end has the router begin nothing any more. What it returns waits for what has begun:
// questions to a peer that takes nothing end with the connection only.
func (r *router) end() (wait func()) {
	x := r.running.Swap(nil)
	if x == nil {
		return func() {}
	}
	x.mu.Lock()
	x.closing = true
	x.mu.Unlock()
	x.cancel()
	return func() {
		x.wg.Wait()
		if err := x.dht.Close(); err != nil {
			r.log.Debug("closing the routing table failed", zap.Error(err))
		}
	}
}

// OnChange implements overlay.Router.
func (r *router) OnChange(f func()) { r.onChange = append(r.onChange, f) }

// Size implements overlay.Router.
func (r *router) Size() int {
	if x := r.running.Load(); x != nil {
		return x.table.Size()
	}
	return 0
}

// Nearest implements overlay.Router.
func (r *router) Nearest(key overlay.Key, k int) []peer.ID {
	if k <= 0 {
		return nil
	}
	near := []peer.ID{r.self}
	if x := r.running.Load(); x != nil {
		near = append(near, x.table.NearestPeers(kb.ConvertKey(string(key[:])), k)...)
	}
	sortByDistance(overlay.PlaceOf(key[:]), near)
	return near[:min(k, len(near))]
}

// Closest implements overlay.Router. Without a deadline it takes half a second
// at most.
//
// Pitfall "1-node errors": kad-dht's lookups fail when the table is empty. The
// first node of a network is simply the closest to everything.
func (r *router) Closest(ctx context.Context, key overlay.Key, k int) ([]peer.ID, error) {
	x := r.running.Load()
	if x == nil || k <= 0 || !x.enter() {
		return r.Nearest(key, k), ctx.Err()
	}
	defer x.wg.Done()
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
	}
	found, _, err := x.lookup(ctx, key[:], k, nil)
	return found, err
}

// up has the neighbourhood looked at, because p is connected now.
func (r *router) up(p peer.ID) {
	if x := r.running.Load(); x != nil {
		select {
		case x.met <- p:
		default: // so many are under way that one more does not matter
		}
	}
}

// down forgets p at once.
//
// Pitfall "dead peers stay in the routing table": on disconnect kad-dht only
// drops the stream it has for messages; the peer stays for minutes.
func (r *router) down(p peer.ID) {
	if x := r.running.Load(); x != nil {
		x.table.RemovePeer(p)
	}
}

// enter counts a caller from outside in, unless close has begun.
func (x *routing) enter() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closing {
		return false
	}
	x.wg.Add(1)
	return true
}

// signal says something on a channel of capacity 1; saying it twice is once.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// watch passes changes on. A peer may have been added after it was lost,
// because kad-dht adds it when an answer comes in; it is removed here.
func (x *routing) watch() {
	for {
		select {
		case <-x.changed:
		case <-x.ctx.Done():
			return
		}
		for _, p := range x.table.ListPeers() {
			if !routes(x.host.Network(), p) {
				x.table.RemovePeer(p)
			}
		}
		for _, f := range x.router.onChange {
			f()
		}
	}
}
