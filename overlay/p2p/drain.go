// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"time"

	"github.com/arke-mesh/arke/overlay/p2p/internal/mux"
)

// drain has every connection deliver what was written to it and end in order,
// as far as that takes no longer than Config.DrainTime.
//
// Pitfall "linger 0": libp2p closes TCP connections with a reset, which
// discards what the kernel has not sent yet, here, and what has not been read
// yet, at the peer. So: the multiplexer's farewell goes behind everything queued;
// with it the TCP stream is ended; and the peer, having read all of it, closes.
func (x *assembly) drain() {
	timer := time.NewTimer(x.owner.cfg.DrainTime)
	defer timer.Stop()
	var gone []<-chan struct{}
	for _, c := range x.swarm.Conns() {
		var m *mux.Conn
		if c.As(&m) {
			m.GoAway()
			gone = append(gone, m.Done())
		}
	}
	for _, each := range gone {
		select {
		case <-each: // because the peer has closed
		case <-timer.C:
			return
		}
	}
}
