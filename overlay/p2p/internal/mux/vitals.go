// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// When a peer that says nothing is asked for a sign of life, and after how long
// the connection is closed.
//
// Pitfall "keepalive under load": short times close connections of busy machines
// and slow lines; to notice a hang is the overlay's task. But connections without
// a link have only this: were they asked rarely, they would outlive a partition of
// half a minute, and then be dead for as long again, while TCP backs off.
const (
	askAfter   = 10 * time.Second
	closeAfter = 25 * time.Second
)

// maxPings is how many questions are remembered.
const maxPings = 64

// vitals knows when the peer of a connection has said something, and asks it to.
type vitals struct {
	conn  *Conn
	begun time.Time
	last  atomic.Int64 // as a time.Duration since begun

	// Guarded by mu.
	mu      sync.Mutex
	waiting map[uint32]chan struct{} // for the pong of that number
	number  uint32                   // of the last ping
	alarm   *time.Timer
}

func (v *vitals) begin(c *Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conn, v.begun, v.waiting = c, time.Now(), make(map[uint32]chan struct{})
	v.alarm = time.AfterFunc(askAfter, v.watch)
}

func (v *vitals) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.alarm.Stop()
}

// heard notes a byte from the peer.
func (v *vitals) heard() { v.last.Store(int64(time.Since(v.begun))) }

// Quiet is how long the peer has said nothing.
func (v *vitals) Quiet() time.Duration { return time.Since(v.begun) - time.Duration(v.last.Load()) }

// Ping asks the peer for a sign of life. answered is closed when it has given it.
func (v *vitals) Ping() (answered <-chan struct{}) {
	v.mu.Lock()
	v.number++
	number, pong := v.number, make(chan struct{})
	v.waiting[number] = pong
	delete(v.waiting, number-maxPings) // whoever asked has given up long ago
	v.mu.Unlock()
	v.conn.control(nil, head{kindPing, 0, number})
	return pong
}

func (v *vitals) pong(number uint32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if pong := v.waiting[number]; pong != nil {
		delete(v.waiting, number)
		close(pong)
	}
}

// watch closes the connection of a peer that leaves a question unanswered.
func (v *vitals) watch() {
	quiet := v.Quiet()
	if quiet >= closeAfter {
		v.conn.fail(fmt.Errorf("mux: the peer has said nothing for %v", closeAfter))
		return
	}
	if quiet >= askAfter {
		v.Ping()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.conn.done:
	default:
		v.alarm.Reset(max(askAfter-quiet, closeAfter/5))
	}
}
