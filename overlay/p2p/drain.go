// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-yamux/v5"
)

// drainTime bounds how long Close waits for peers to take what was written.
const drainTime = 500 * time.Millisecond

// drain has every connection deliver what was written to it and end in order,
// as far as that takes no longer than drainTime.
//
// Pitfall "linger 0": libp2p closes TCP connections with a reset, which
// discards what the kernel has not sent yet, here, and what has not been read
// yet, at the peer. So: yamux's farewell goes behind everything queued; with it
// the TCP stream is ended; and the peer, having read all of it, closes.
func (x *assembly) drain() {
	over := make(chan struct{})
	timer := time.AfterFunc(drainTime, func() { close(over) })
	defer timer.Stop()
	var wg sync.WaitGroup
	for _, c := range x.swarm.Conns() {
		wg.Go(func() { x.farewell(c, over) })
	}
	wg.Wait()
}

// farewell ends one connection in order, unless over is closed first.
func (x *assembly) farewell(c network.Conn, over <-chan struct{}) {
	var conn *secureConn
	var session *yamux.Session
	if !c.As(&conn) || !c.As(&session) {
		return
	}
	// It may block while the peer takes nothing; the connection's end, at the
	// latest, ends it.
	x.owner.wg.Go(func() { _ = session.GoAway() })
	select {
	case <-conn.gauge.closed: // by yamux, because the peer has closed
	case <-over:
	}
}
