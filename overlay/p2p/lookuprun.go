// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"slices"
	"time"

	kb "github.com/libp2p/go-libp2p-kbucket"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"

	"github.com/arke-mesh/arke/overlay"
)

const (
	// patience is how long a connected peer may take to answer before nobody
	// waits for it; three times its usual latency if that is longer.
	patience = 200 * time.Millisecond
	// maxNamed bounds the peers taken from one answer, maxNamedAddrs the
	// addresses of each: more is an attempt to keep us busy.
	maxNamed      = 2 * bucketSize
	maxNamedAddrs = 16
)

// answer is what came of asking one peer.
type answer struct {
	from  peer.ID
	named []peer.ID
	news  bool // from was not connected before
	err   error
}

// lookup finds the k peers closest to key: it begins with the closest ones in
// the table, and asks extra in any case. When ctx ends it returns what it has,
// and the error. news says that somebody answered who was not connected before.
func (x *routing) lookup(ctx context.Context, key []byte, k int, extra []peer.ID) (found []peer.ID, news bool, _ error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(x.ctx, cancel)
	defer stop()

	begin := x.table.NearestPeers(kb.ConvertKey(string(key)), max(k, bucketSize))
	l := newLookup(overlay.PlaceOf(key), k, x.router.self, begin, extra)
	answers := make(chan answer)
	limits := make(map[peer.ID]time.Time)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		for _, p := range l.next() {
			known := x.host.Network().Connectedness(p) == network.Connected
			asking := ctx
			if !known && !slices.Contains(begin, p) && !slices.Contains(extra, p) {
				asking = mayDial(ctx)
			}
			if known {
				limits[p] = time.Now().Add(max(patience, 3*x.host.Peerstore().LatencyEWMA(p)))
			}
			x.wg.Go(func() {
				a := x.ask(asking, p, key)
				a.news = !known && a.err == nil
				select {
				case answers <- a:
				case <-ctx.Done():
				}
			})
		}
		if l.done() {
			return l.result(), news, nil
		}
		timer.Reset(time.Until(earliest(limits)))
		select {
		case a := <-answers:
			delete(limits, a.from)
			news = news || a.news
			switch {
			case a.err == nil:
				l.answered(a.from, a.named)
			case x.host.Network().Connectedness(a.from) == network.Connected:
				l.slow(a.from) // it is there, and others count on it
			default:
				l.failed(a.from)
			}
		case now := <-timer.C:
			for p, limit := range limits {
				if !now.Before(limit) {
					delete(limits, p)
					l.slow(p)
				}
			}
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil { // whatever came at the same moment
			return l.result(), news, err
		}
	}
}

// earliest returns the first of the times, or one that is far away.
func earliest(times map[peer.ID]time.Time) time.Time {
	first := time.Now().Add(time.Hour)
	for _, t := range times {
		if t.Before(first) {
			first = t
		}
	}
	return first
}

// ask asks p for the peers closest to key that it knows, and notes where they
// are. It connects to p first where necessary, if ctx says mayDial.
func (x *routing) ask(ctx context.Context, p peer.ID, key []byte) answer {
	if x.host.Network().Connectedness(p) == network.Connected && !routes(x.host.Network(), p) {
		return answer{from: p, err: errNoRoute} // a stream to it may be left
	}
	infos, err := x.messenger.GetClosestPeers(ctx, p, peer.ID(key))
	if err != nil {
		return answer{from: p, err: err}
	}
	// Pitfall "asked once": kad-dht asks a peer when identify is through, and if it gets no
	// answer then, because one of two connections ends, never again.
	if routes(x.host.Network(), p) {
		_, _ = x.table.TryAddPeer(p, true, false) // there may be no place for it
	}
	if len(infos) > maxNamed {
		infos = infos[:maxNamed]
	}
	a := answer{from: p}
	for _, info := range infos {
		if info.ID == x.router.self || info.ID.Validate() != nil {
			continue
		}
		a.named = append(a.named, info.ID)
		// Nobody vouches for these addresses. They may cost a dial; TLS
		// checks who is there. Of connected peers we know better ones.
		if x.host.Network().Connectedness(info.ID) != network.Connected {
			addrs := info.Addrs[:min(len(info.Addrs), maxNamedAddrs)]
			x.host.Peerstore().AddAddrs(info.ID, addrs, peerstore.TempAddrTTL)
		}
	}
	return a
}
