// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// router moves packets between the devices of nodes.
type router struct {
	// Immutable after newRouter.
	wires  *wires
	post   *post
	log    *zap.Logger
	counts [outcomes]atomic.Uint64

	// Guarded by mu.
	mu    sync.RWMutex
	ports map[address]*port
	names map[string]address

	wg sync.WaitGroup
}

// port is where a node's device is plugged in.
type port struct {
	name   string
	device io.ReadWriter
}

// newRouter starts a router without ports. The caller closes it.
func newRouter(w *wires, now func() time.Duration, log *zap.Logger) (*router, error) {
	r := &router{wires: w, log: log, ports: make(map[address]*port), names: make(map[string]address)}
	var err error
	r.post, err = newPost(now, r.deliver)
	return r, err
}

// plug connects a node's device. Whoever closes the device unplugs it first.
func (r *router) plug(name string, addr address, device io.ReadWriter) {
	p := &port{name, device}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ports[addr], r.names[name] = p, addr
	r.wg.Go(func() { r.read(p) })
}

// unplug ends the deliveries to an address.
func (r *router) unplug(addr address) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ports, addr)
}

func (r *router) read(p *port) {
	buf := make([]byte, 1<<16)
	for {
		n, err := p.device.Read(buf)
		if err != nil {
			if !errors.Is(err, fs.ErrClosed) {
				r.log.Warn("a device can't be read", zap.String("node", p.name), zap.Error(err))
			}
			return
		}
		if to, ok := destination(buf[:n]); ok {
			r.counts[r.forward(p, to, buf[:n])].Add(1)
		}
	}
}

// forward sends a packet on its way. It does not keep the packet.
func (r *router) forward(p *port, to address, packet []byte) outcome {
	r.mu.RLock()
	target := r.ports[to]
	r.mu.RUnlock()
	if target == nil {
		return unknown
	}
	packet = slices.Clone(packet)
	arrive, f := r.wires.packet(p.name, target.name, packet)
	if f == passed && !r.post.send(arrive, to, packet) {
		return crowded
	}
	return f
}

// resume sends what was held.
func (r *router) resume(all []parcel) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, p := range all {
		if !r.post.send(p.arrive, r.names[p.to], p.packet) {
			r.counts[crowded].Add(1)
		}
	}
}

// deliver runs on the thread of the post.
func (r *router) deliver(l letter) {
	r.mu.RLock()
	p := r.ports[l.to]
	r.mu.RUnlock()
	if p == nil {
		r.counts[unknown].Add(1)
		return
	}
	if _, err := p.device.Write(l.packet); err != nil {
		r.counts[unknown].Add(1) // the device was closed meanwhile
	}
}

// close waits until every device was closed.
func (r *router) close() {
	r.wg.Wait()
	r.post.close()
}
