// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// Tunnel is one end of a tunnel. Methods may be called concurrently, as package
// patterns describes them.
//
// It is kept small: what only some tunnels need, or only while somebody waits,
// is made when it is needed.
type Tunnel struct {
	// Immutable once it is in its peer's table.
	engine  *Engine
	remote  *remote
	member  *member // that serves it; nil at the opener
	id      uint64
	number  uint64 // of the tunnel, on this node
	session uint64 // of the link
	limit   int    // of a message that Receive returns, in bytes
	flags   uint8  // of all frames sent
	info    patterns.TunnelInfo
	stream  *security.Stream // nil if not sealed; sending needs the senders' turn

	mu    sync.Mutex // guards what follows
	todo  todo       // to be done when mu is released
	ends  ends
	over  bool        // both directions have ended
	ended atomic.Bool // whoever waits for that was told; written under mu

	serving  bool // its handler has not returned
	detached bool
	returned bool // the purse has its window back, but for kept
	kept     int  // for what came and a relay has not taken yet
	known    bool // at the member: the opener has said a word

	receivers turnstile
	starving  bool  // somebody waits for inBell
	inBell    *bell // nil until somebody does
	window    window
	in        fifo.Queue[chunk] // came and was not read; its bound is the window
	part      []byte            // the beginning of a message that is not whole
	parted    bool              // there is one, however short
	offered   int               // bytes sent already of the chunk that Offer refused last

	senders turnstile
	blocked bool // somebody waits for outBell
	outBell *bell
	credit  int
	granted uint64   // the largest total of credit that was heard of
	parked  []parcel // wait for room in the lane, and go before anything else
	flying  bool     // the first of them is being sent
	owing   bool     // the other side was not told of all its credit yet
	parting *wire.TunnelReset

	done     chan struct{} // nil until asked for
	children []*func()     // of the context's AfterFunc, in its order
	watcher  *watcher      // of Notify

	// Guarded by the outlet's mu.
	queued  bool // in the ring of the outlet
	refused bool // in its list of those who want to know of room
}

// todo is what has to be done when mu is released, so that nothing is called
// with it held.
type todo uint8

const (
	wakeReceiver todo = 1 << iota
	wakeSender
	tellWatcher
	pushOut    // the outlet has work
	finishUp   // the tunnel is over
	giveCredit // due now
	sayReset   // parting
)

var _ patterns.TunnelSource = (*Tunnel)(nil)

// Info implements patterns.Tunnel.
func (t *Tunnel) Info() patterns.TunnelInfo { return t.info }

// Err implements patterns.Tunnel.
func (t *Tunnel) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ends.err
}

// Done implements patterns.Tunnel.
func (t *Tunnel) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		if t.ended.Load() {
			close(t.done)
		}
	}
	return t.done
}

// unlock releases mu and does what was decided under it. own says that the
// program here has called, so that its watcher is not called back at once.
func (t *Tunnel) unlock(own bool) {
	do, total, watched := t.todo, t.window.total, t.watcher != nil
	t.todo = 0
	if do == 0 {
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	if do&giveCredit != 0 {
		t.sendCredit(total)
	}
	if do&sayReset != 0 {
		t.remote.outlet.reset(t.sealReset(*t.parting)) // set once
	}
	if do&wakeReceiver != 0 {
		t.wake("tunnel.receive", t.inBell.ring)
	}
	if do&wakeSender != 0 {
		t.wake("tunnel.send", t.outBell.ring)
	}
	if do&pushOut != 0 {
		t.remote.outlet.push(t)
	}
	if do&finishUp != 0 {
		t.finish()
	}
	if watched && do&tellWatcher != 0 {
		t.tell(own)
	}
}

func (t *Tunnel) wake(name string, f func()) { t.engine.wake(name, t.number, f) }

// bell wakes whoever waits for it, or the next one to wait.
type bell struct {
	c    chan struct{} // has room for one
	ring func()
}

func newBell() *bell {
	b := &bell{c: make(chan struct{}, 1)}
	b.ring = func() {
		select {
		case b.c <- struct{}{}:
		default:
		}
	}
	return b
}

// changedIn and changedOut note that a receiver, or a sender, may go on. mu is
// held, as for all below.
func (t *Tunnel) changedIn() {
	t.todo |= tellWatcher
	if t.starving {
		t.starving = false
		t.todo |= wakeReceiver
	}
}

func (t *Tunnel) changedOut() {
	t.todo |= tellWatcher
	if t.blocked {
		t.blocked = false
		t.todo |= wakeSender
	}
}

// fail ends both directions. What came can be received still, unless drop says
// otherwise.
func (t *Tunnel) fail(err error, drop bool) {
	if t.over {
		return
	}
	t.ends.err = err
	if drop {
		t.dropIn()
	}
	t.settle()
}

// dropIn throws away what was not received.
func (t *Tunnel) dropIn() {
	for t.in.Len() > 0 {
		t.window.read(cost(len(t.in.Pop().data)))
	}
	t.part, t.parted = nil, false
	t.unkeep(t.kept)
}

// dropParked throws away what waits for room in the lane, but for the frame that
// is being sent.
func (t *Tunnel) dropParked() {
	keep, bytes := 0, 0
	if t.flying && len(t.parked) > 0 {
		keep = 1
	}
	for _, p := range t.parked[keep:] {
		bytes += len(p.body)
	}
	if t.parked = t.parked[:keep]; bytes > 0 {
		t.remote.outlet.forget(bytes)
	}
}

// settle notices that both directions have ended. In good order that is not
// before all that was sent has left: what is parked still belongs to it.
func (t *Tunnel) settle() {
	if t.over || !t.ends.over() || t.ends.err == nil && len(t.parked) > 0 {
		return
	}
	t.over = true
	t.owing = false
	t.dropParked()
	t.changedIn()
	t.changedOut()
	t.todo |= finishUp
}

// finish carries out what settle has noticed; mu is not held.
func (t *Tunnel) finish() {
	t.remote.remove(t)
	t.release()
	t.wake("tunnel.done", t.closeDone)
}

// closeDone tells who waits for the end.
func (t *Tunnel) closeDone() {
	t.mu.Lock()
	children := t.children
	t.children = nil
	t.ended.Store(true)
	if t.done != nil {
		close(t.done)
	}
	t.mu.Unlock()
	for _, f := range children {
		(*f)()
	}
}

// release gives back the tunnel's place once it is over and its handler has
// returned.
func (t *Tunnel) release() {
	t.mu.Lock()
	if t.returned || !t.over || t.serving {
		t.mu.Unlock()
		return
	}
	t.returned = true
	if t.watcher != nil {
		t.kept = min(t.waiting(), t.window.size)
	}
	window := t.window.size - t.kept
	t.mu.Unlock()
	t.engine.leave(t, window)
}
