// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"io"

	"github.com/arke-mesh/arke/patterns"
)

// watcher calls the function of Notify, one call at a time.
type watcher struct {
	f    func()
	call func() // Tunnel.call of this one

	// Guarded by the tunnel's mu.
	calling bool
	again   bool // something happened since the call began
}

// Detach implements patterns.TunnelSource.
func (t *Tunnel) Detach() {
	t.mu.Lock()
	t.detached = true
	t.mu.Unlock()
}

// Notify implements patterns.TunnelSource. f is called on the goroutine that
// reads the link, or the one that found room in it, never within a call of the
// owner's.
func (t *Tunnel) Notify(f func()) {
	w := &watcher{f: f}
	w.call = func() { t.call(w) }
	t.mu.Lock()
	t.watcher = w
	if t.returned {
		t.kept = t.waiting()
		t.engine.keep(t.kept)
	}
	t.mu.Unlock()
	t.tell(true)
}

// waiting is the memory of what came and was not received. mu is held.
func (t *Tunnel) waiting() (bytes int) {
	for i := range t.in.Len() {
		bytes += cost(len(t.in.At(i).data))
	}
	return bytes
}

// unkeep gives the purse back what it has kept for chunks of that cost. Tunnels
// that a relay passes on end long before a slow client has read what came of
// them: without this, one after the other would leave as much there as it may
// hold, and nothing would count it. mu is held.
func (t *Tunnel) unkeep(c int) {
	if c = min(c, t.kept); c > 0 {
		t.kept -= c
		t.engine.giveBack(c)
	}
}

// tell calls the watcher. own says that it is the owner who has called, and may
// hold locks that f takes: then another goroutine calls f.
func (t *Tunnel) tell(own bool) {
	t.mu.Lock()
	w := t.watcher
	if w == nil || w.calling {
		if w != nil {
			w.again = true
		}
		t.mu.Unlock()
		return
	}
	w.calling, w.again = true, true
	t.mu.Unlock()
	if own {
		t.engine.later("tunnel.notify", 0, w.call)
		return
	}
	t.wake("tunnel.notify", w.call)
}

func (t *Tunnel) call(w *watcher) {
	t.mu.Lock()
	for w.again {
		w.again = false
		t.mu.Unlock()
		w.f()
		t.mu.Lock()
	}
	w.calling = false
	t.mu.Unlock()
}

// Take implements patterns.TunnelSource.
func (t *Tunnel) Take() (data []byte, last, more bool, err error) {
	t.mu.Lock()
	defer t.unlock(true)
	switch {
	case t.ends.wanted == endingClosed && t.ends.err == nil:
		return nil, false, false, patterns.ErrClosed
	case t.in.Len() > 0:
		c := t.in.Pop()
		// What a short chunk costs beside its bytes is free again at once:
		// Return knows bytes only.
		t.consumed(cost(len(c.data)) - len(c.data))
		t.unkeep(cost(len(c.data)))
		return c.data, c.last, true, nil
	case t.ends.err != nil:
		return nil, false, false, t.ends.err
	case t.ends.heard > endingNone:
		return nil, false, false, io.EOF
	}
	return nil, false, false, nil
}

// Return implements patterns.TunnelSource.
func (t *Tunnel) Return(n int) {
	t.mu.Lock()
	t.consumed(n)
	t.unlock(true)
}

// Recycle implements patterns.TunnelSource.
func (t *Tunnel) Recycle(chunk []byte) {
	if cap(chunk) > shortChunk {
		t.remote.recycle(chunk)
		return
	}
	t.engine.buffers.put(chunk)
}

// Offer implements patterns.TunnelSource. If there is credit for a part of the
// chunk only, that part goes, and Offer returns ErrWouldBlock: the same chunk,
// offered again, goes on from there.
func (t *Tunnel) Offer(chunk []byte, last bool) error {
	t.mu.Lock()
	if !t.ends.maySend() {
		err := t.sendError()
		t.unlock(true)
		return err
	}
	if len(t.parked) > 0 || !t.senders.try() {
		t.unlock(true)
		return patterns.ErrWouldBlock
	}
	err := t.offer(chunk, last)
	t.leaveSending()
	return err
}

// offer sends as much of the chunk as it can. mu is held and the senders' turn
// was taken; both are when it returns, too.
func (t *Tunnel) offer(chunk []byte, last bool) error {
	rest := chunk[min(t.offered, len(chunk)):]
	for {
		n, ok := piece(len(rest), t.credit)
		if !ok || len(t.parked) > 0 {
			return patterns.ErrWouldBlock
		}
		if !t.remote.outlet.roomFor(t, n) {
			return patterns.ErrWouldBlock
		}
		t.credit -= cost(n)
		t.unlock(true)
		t.transmitNow(rest[:n], last && n == len(rest))
		t.mu.Lock()
		if rest = rest[n:]; len(rest) == 0 {
			t.offered = 0
			return nil
		}
		t.offered = len(chunk) - len(rest)
	}
}
